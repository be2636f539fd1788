/** The record of an installation: the additions to each file, so that exactly these are removed again. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { LedgerError } from '../../../lib/ledger-error.js'
import { GUARD_ACTIONS } from '../hook/guard-action.js'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../../ports/private-files.js'

const additionSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('json'),
    file: z.string(),
    /** False: comments and trailing commas are allowed. */
    isStrict: z.boolean(),
    /** The place of the value: the names of objects, then the name of the new member or of the list. */
    path: z.array(z.string()).readonly(),
    value: z.unknown(),
    /** The value is an item of the list, not the member itself. */
    isItem: z.boolean(),
  }),
  z.object({
    /** A table of TOML at the end of the file. */
    kind: z.literal('toml'),
    file: z.string(),
    table: z.tuple([z.string(), z.string()]).readonly(),
    lines: z.array(z.string()).readonly(),
  }),
  z.object({
    /** A file of our own. */
    kind: z.literal('file'),
    file: z.string(),
    text: z.string(),
  }),
])
/** An addition to a settings file. */
export type Addition = Readonly<z.infer<typeof additionSchema>>

const installationSchema = z.object({
  agent: z.string(),
  /** The ledger, as in `--store`. */
  store: z.string(),
  /** The file of rules with which each note begins, as in `--rules`. */
  rules: z.string().optional(),
  /** What the guard does; absent if it is not installed. */
  guard: z.enum(GUARD_ACTIONS).optional(),
  /** The plugin makes the summaries of the program. */
  compacts: z.literal(true).optional(),
  /** Additions in the order in which they were written, each with the text that was inserted into the file. */
  written: z.array(z.object({ addition: additionSchema, insertion: z.string().min(1) })).readonly(),
  /** Files that did not exist before. */
  newFiles: z.array(z.string()).readonly(),
  /** Directories that did not exist before. */
  newFolders: z.array(z.string()).readonly(),
})
/** A record of an installation. */
export type Installation = Readonly<z.infer<typeof installationSchema>>
export type WrittenAddition = Readonly<Installation['written'][number]>

const fileOf = (folder: string, agent: string): string => join(folder, `${agent}.json`)

/** The record of a program's installation. Undefined if it is not installed. */
export function findInstallation(folder: string, agent: string): Installation | undefined {
  const file = fileOf(folder, agent)
  if (!existsSync(file)) return undefined
  try {
    return installationSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    throw new LedgerError('FileUnusable', `${file} cannot be read: delete it, and remove the hooks by hand`)
  }
}

/** The record of a program's installation. */
export function readInstallation(folder: string, agent: string): Installation {
  const found = findInstallation(folder, agent)
  if (found === undefined) throw new LedgerError('NoLedger', `context-ledger is not installed for ${agent}`)
  return found
}

/** Writes the record. */
export function writeInstallation(folder: string, installation: Installation): void {
  mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER })
  const file = fileOf(folder, installation.agent)
  writeFileSync(`${file}.new`, `${JSON.stringify(installation, undefined, 2)}\n`, { mode: PRIVATE_FILE })
  renameSync(`${file}.new`, file)
}
