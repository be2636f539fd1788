/**
 * Which conversations may leave this machine: those of projects that the user named. A conversation belongs to the
 * directory in which its program began it, or, if the program recorded none, to the directory of its file.
 */
import { LedgerError } from '../../../lib/ledger-error.js'
import { isBelow } from '../../../lib/platform.js'
import { realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import type { TranscriptItem } from '../../../application/importers/transcript.js'

/** The name of excluded conversations in the counts of an import. */
export const OUTSIDE = 'conversation outside the --project folders'

/** The directories that `--project` names, without links. Throws if one is no directory. */
export async function projectFolders(named: readonly string[]): Promise<readonly string[]> {
  return await Promise.all(
    named.map(async (folder) => {
      const found = folder.trim() === '' ? undefined : await stat(folder).catch(() => undefined)
      if (found?.isDirectory() !== true) throw new LedgerError('Usage', `--project: "${folder}" is not a directory`)
      return await realpath(folder)
    }),
  )
}

/** The path without links. Of a path that does not exist any more, the part that exists has no links. */
async function withoutLinks(path: string): Promise<string | undefined> {
  const real = await realpath(path).catch(() => undefined)
  if (real !== undefined) return real
  // Without the directories it is unknown where `..` leads.
  if (path.split(/[/\\]/u).includes('..')) return undefined
  const parent = dirname(path)
  const above = parent === path ? undefined : await withoutLinks(parent)
  return above === undefined ? undefined : join(above, relative(parent, path))
}

/** Whether a path is one of the directories, or inside one. */
export async function isInside(folders: readonly string[], path: string): Promise<boolean> {
  const real = isAbsolute(path) ? await withoutLinks(path) : undefined
  if (real === undefined) return false
  return folders.some((folder) => isBelow(real, folder))
}

/** Selects the items of one transcript that may be sent. */
export class ProjectFilter {
  private readonly decisions = new Map<string, boolean>()
  private isAllowed: boolean | undefined
  /** Damage before the first conversation belongs to that conversation. */
  private early: TranscriptItem[] = []

  constructor(
    private readonly folders: readonly string[],
    private readonly file: string,
  ) {}

  /** Number of conversations that may not be sent. */
  get excluded(): number {
    return [...this.decisions.values()].filter((allowed) => !allowed).length
  }

  /** The items to send, with this one or now that it was read. */
  async take(item: TranscriptItem): Promise<readonly TranscriptItem[]> {
    if (item.kind === 'conversation') {
      const known = this.decisions.get(item.sourceId)
      this.isAllowed = known ?? (await isInside(this.folders, item.cwd ?? resolve(dirname(this.file))))
      this.decisions.set(item.sourceId, this.isAllowed)
      const items = [item, ...this.early]
      this.early = []
      return this.isAllowed ? items : []
    }
    if (this.isAllowed === undefined) this.early.push(item)
    return this.isAllowed === true ? [item] : []
  }
}
