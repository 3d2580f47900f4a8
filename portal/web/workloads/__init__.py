"""Pages of workloads: the list, the launch form, one workload and its live parts."""
