"""What tenancy asks of the outside: mail."""
