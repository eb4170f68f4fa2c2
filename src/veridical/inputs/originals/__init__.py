"""Result files of the published systems, one file a system: from a record of the file to reports."""
