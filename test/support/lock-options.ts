import type { LockOptions } from '../../src/adapters/pglite/folder-lock.js'

/** What the words `--beat MS` and `--quiet MS` of a process say of its lock on a folder. */
export function lockOptionsOf(words: readonly string[]): LockOptions {
  const named = (name: string): number | undefined =>
    words.includes(name) ? Number(words[words.indexOf(name) + 1]) : undefined
  const [beatMs, quietMs] = [named('--beat'), named('--quiet')]
  return { ...(beatMs === undefined ? {} : { beatMs }), ...(quietMs === undefined ? {} : { takeoverMs: quietMs }) }
}
