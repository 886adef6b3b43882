"""What people see: text for the terminal, tables as files."""
