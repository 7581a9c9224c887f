/** A field of a run while somebody changes it: the draft, and what becomes of another's change. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ApiError, bodyOf } from "@/api/client";
import { lifeQuery, type Run, runQuery } from "@/state/run";

type Field = "name" | "note";

/** What was there when the change began. */
interface Base {
  text: string;
  etag: string;
}

export interface Draft {
  isOpen: boolean;
  text: string;
  isSaving: boolean;
  /** Why it was not saved. */
  error: Error | null;
  /** What somebody else wrote there meanwhile; null: nobody did. */
  theirs: string | null;
  open: () => void;
  close: () => void;
  change: (text: string) => void;
  save: () => void;
  /** Saves the draft in place of what somebody else wrote. */
  overwrite: () => void;
}

export function useDraft(run: Run, field: Field): Draft {
  const cache = useQueryClient();
  const [base, setBase] = useState<Base | null>(null);
  const [text, setText] = useState("");
  const [theirs, setTheirs] = useState<Run | null>(null);

  const close = (): void => {
    setBase(null);
    setTheirs(null);
    saving.reset();
  };
  const saving = useMutation({
    mutationFn: async (from: Base): Promise<Run | null> => {
      try {
        return await patch(run.id, field, text, from.etag);
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 412) throw error;
      }
      const current = await cache.query({ ...runQuery(run.id), staleTime: 0 });
      // Another field was changed: that is no conflict.
      if (current[field] === from.text) return patch(run.id, field, text, current.etag);
      setTheirs(current);
      return null;
    },
    onSuccess: (changed) => {
      if (changed === null) return;
      cache.setQueryData(runQuery(run.id).queryKey, changed);
      void cache.invalidateQueries({ queryKey: lifeQuery(run.id).queryKey });
      close();
    },
  });

  return {
    isOpen: base !== null,
    text,
    isSaving: saving.isPending,
    error: saving.error,
    theirs: theirs === null ? null : theirs[field],
    open: () => {
      setText(run[field]);
      setBase({ text: run[field], etag: run.etag });
    },
    close,
    change: setText,
    save: () => {
      if (base === null) return;
      if (text === base.text) close();
      else saving.mutate(base);
    },
    overwrite: () => {
      if (theirs === null) return;
      const from = { text: theirs[field], etag: theirs.etag };
      setBase(from);
      setTheirs(null);
      saving.mutate(from);
    },
  };
}

async function patch(run: string, field: Field, text: string, etag: string): Promise<Run> {
  return bodyOf(
    await api.PATCH("/v1/runs/{run}", {
      params: { path: { run } },
      headers: { "If-Match": etag },
      body: { [field]: text },
    }),
  );
}
