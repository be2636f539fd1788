/** Reads settings files of other programs, and replaces several of them in one step. */
import { hasModes } from '../../../lib/platform.js'
import { constants } from 'node:fs'
import { lstat, mkdir, open, readdir, rm, rmdir, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { LedgerError } from '../../../lib/ledger-error.js'
import { FileDraft } from '../../../ports/file-draft.js'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../../ports/private-files.js'
import { codeOf, sentenceOf } from '../../../ports/store-error.js'

/** An error that names a settings file. */
export const unusable = (file: string, detail: string): LedgerError =>
  new LedgerError('FileUnusable', `${file} ${detail}; nothing was written`)

/** A settings file as it was read. */
export interface SettingsFile {
  readonly path: string
  /** Undefined if the file does not exist. */
  readonly text: string | undefined
  readonly mode: number
}

/** A settings file with its new text; undefined deletes it. */
export interface SettingsChange {
  readonly file: SettingsFile
  readonly text: string | undefined
}

async function opened(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw unusable(path, codeOf(error) === 'ELOOP' ? 'is a symbolic link' : `cannot be read: ${sentenceOf(error)}`)
  }
}

/** The id of this user; undefined on Windows. */
const ownId = (): number | undefined => process.getuid?.()

/** Reads a settings file. A link, a file of another user, or a file that is not text is an error. */
export async function readSettings(path: string): Promise<SettingsFile> {
  const isLink = (await lstat(path).catch(() => undefined))?.isSymbolicLink() === true
  if (isLink) throw unusable(path, 'is a symbolic link')
  const handle = await opened(path)
  if (handle === undefined) return { path, text: undefined, mode: PRIVATE_FILE }
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) throw unusable(path, 'is not a file')
    if (ownId() !== undefined && stats.uid !== ownId()) throw unusable(path, 'belongs to another user')
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await handle.readFile())
    return { path, text, mode: stats.mode & 0o7777 }
  } catch (error) {
    if (codeOf(error) === 'ERR_ENCODING_INVALID_ENCODED_DATA') throw unusable(path, 'is not UTF-8 text')
    throw error
  } finally {
    await handle.close()
  }
}

/** A directory and those above it, up to `top`. */
const foldersBetween = (folder: string, top: string): string[] =>
  folder === top ? [folder] : [folder, ...foldersBetween(dirname(folder), top)]

/** Creates the missing directories above a path. Returns those that it created, the innermost first. */
async function createFolders(folder: string): Promise<string[]> {
  const first = await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER })
  return first === undefined ? [] : foldersBetween(folder, first)
}

/** Removes directories that are empty, the innermost first. */
export async function removeEmptyFolders(folders: readonly string[]): Promise<void> {
  for (const folder of folders.toSorted((a, b) => b.length - a.length))
    if ((await readdir(folder).catch(() => ['unreadable'])).length === 0) await rmdir(folder)
}

/** Adds a draft with the text to the drafts. */
async function writeDraft(drafts: Map<string, FileDraft>, { path, mode }: SettingsFile, text: string): Promise<void> {
  const draft = await FileDraft.open(path, mode)
  drafts.set(path, draft)
  await draft.file.writeFile(text)
  // The umask does not apply.
  if (hasModes()) await draft.file.chmod(mode)
  await draft.finish()
}

/** Rejects a file that was changed since it was read. */
async function checkUnchanged({ path, text }: SettingsFile): Promise<void> {
  if ((await readSettings(path)).text !== text) throw unusable(path, 'was changed by another program meanwhile')
}

/** Replaces a file by its draft; removes it if it has none. */
async function put(drafts: ReadonlyMap<string, FileDraft>, { path }: SettingsFile): Promise<void> {
  const draft = drafts.get(path)
  if (draft === undefined) await rm(path)
  else await draft.replace()
}

/**
 * Writes all changes, or none. Each file is replaced in one step and keeps its mode. A file that differs from what was
 * read is an error. Returns the directories that were created.
 */
export async function writeSettings(changes: readonly SettingsChange[]): Promise<string[]> {
  const folders: string[] = []
  const madeChanges: SettingsChange[] = []
  const drafts = new Map<string, FileDraft>()
  const former = new Map<string, FileDraft>()
  try {
    for (const { file, text } of changes) {
      folders.push(...(await createFolders(dirname(file.path))))
      if (text !== undefined) await writeDraft(drafts, file, text)
    }
    for (const { file } of changes) await checkUnchanged(file)
    for (const change of changes) {
      await put(drafts, change.file)
      madeChanges.push(change)
    }
    return folders
  } catch (error) {
    for (const { file } of madeChanges) {
      if (file.text !== undefined) await writeDraft(former, file, file.text)
      await put(former, file)
    }
    for (const draft of [...drafts.values(), ...former.values()]) await draft.discard()
    await removeEmptyFolders(folders)
    throw error
  }
}
