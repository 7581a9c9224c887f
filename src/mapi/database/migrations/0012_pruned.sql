-- Nobody asks when a run was pruned: `pruned_seq` says up to which change it was.
alter table mapi.runs drop column pruned;
