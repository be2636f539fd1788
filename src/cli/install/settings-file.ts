/** Reads settings files of other programs, and replaces several of them in one step. */
import { constants } from 'node:fs'
import { chmod, lstat, mkdir, open, readdir, rename, rm, rmdir, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { LedgerError } from '../../lib/ledger-error.js'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../ports/private-files.js'
import { codeOf, sentenceOf } from '../../ports/store-error.js'

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

const draftOf = (path: string): string => `${path}.context-ledger-${String(process.pid)}`

async function writeDraft(path: string, text: string, mode: number): Promise<void> {
  const handle = await open(draftOf(path), 'wx', mode)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  // The umask does not apply.
  await chmod(draftOf(path), mode)
}

/** Rejects a file that was changed since it was read. */
async function checkUnchanged({ path, text }: SettingsFile): Promise<void> {
  if ((await readSettings(path)).text !== text) throw unusable(path, 'was changed by another program meanwhile')
}

async function put(path: string, text: string | undefined): Promise<void> {
  if (text === undefined) await rm(path)
  else await rename(draftOf(path), path)
}

/**
 * Writes all changes, or none. Each file is replaced in one step and keeps its mode. A file that differs from what was
 * read is an error. Returns the directories that were created.
 */
export async function writeSettings(changes: readonly SettingsChange[]): Promise<string[]> {
  const folders: string[] = []
  const madeChanges: SettingsChange[] = []
  try {
    for (const { file, text } of changes) {
      folders.push(...(await createFolders(dirname(file.path))))
      if (text !== undefined) await writeDraft(file.path, text, file.mode)
    }
    for (const { file } of changes) await checkUnchanged(file)
    for (const change of changes) {
      await put(change.file.path, change.text)
      madeChanges.push(change)
    }
    return folders
  } catch (error) {
    for (const { file } of madeChanges) {
      if (file.text !== undefined) await writeDraft(file.path, file.text, file.mode)
      await put(file.path, file.text)
    }
    for (const { file } of changes) await rm(draftOf(file.path), { force: true })
    await removeEmptyFolders(folders)
    throw error
  }
}
