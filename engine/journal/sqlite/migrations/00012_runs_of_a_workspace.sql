-- Of many workspaces one may have few runs, which a list of its runs finds without reading those of the others.
CREATE INDEX runs_workspace ON runs (workspace, id);
