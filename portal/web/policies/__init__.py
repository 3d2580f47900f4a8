"""Pages of policies: the list, the editor of each kind of rule, and what a rule would have changed."""
