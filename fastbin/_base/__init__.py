"""The ground that everything else stands on: errors, checks of arguments, files, tables, and the words of results."""
