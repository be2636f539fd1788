/** Selects the files of an import: named files and files in named directories, each with its program. */
import { isLedgerError, LedgerError } from '../../../lib/ledger-error.js'
import { isBelow } from '../../../lib/platform.js'
import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { importers, recognizeTranscript, type RecognizedTranscript } from '../../../application/importers/index.js'
import { codeOf, sentenceOf } from '../../../ports/store-error.js'
import { similarFile } from '../config/named-files.js'

/** A file to import: a transcript of a program, or messages in our own format. */
export interface PlannedFile {
  readonly path: string
  /** Size of all files of the conversation. */
  readonly bytes: number
  /** Newest change of these files, in milliseconds since 1970. */
  readonly modifiedAtMs: number
  /** The program; undefined for our own format. */
  readonly program: string | undefined
  /** Found in a directory, so an unrecognized file is skipped instead of reported as an error. */
  readonly isFound: boolean
}

export interface ImportPlan {
  readonly files: readonly PlannedFile[]
  /** Unrecognized files in directories, special files, and links that lead out of the directory. */
  readonly skipped: readonly string[]
}

/** File name extensions of transcripts. */
const EXTENSIONS = /\.(?:jsonl|json|md|traj|db|vscdb|zst)$/iu
const OUR_EXTENSIONS = /\.jsonl$/iu

async function existing(path: string): Promise<{ readonly bytes: number; readonly isFolder: boolean }> {
  if (path.trim() === '') throw new LedgerError('Usage', `a file name is empty: "${path}"`)
  try {
    const found = await stat(path)
    if (!found.isFile() && !found.isDirectory())
      throw new LedgerError('FileUnusable', `${path} is neither a file nor a directory`)
    return { bytes: found.size, isFolder: found.isDirectory() }
  } catch (error) {
    if (isLedgerError(error)) throw error
    throw new LedgerError(
      'FileUnusable',
      codeOf(error) === 'ENOENT'
        ? `${path} does not exist${await similarFile(path)}`
        : `${path} cannot be read: ${sentenceOf(error)}`,
    )
  }
}

/** Ignores the error of a file that was removed since its directory was read. Rethrows any other error. */
export function ignoreRemoved(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR') throw error
}

/** Whether a path is inside a directory after its links are resolved. */
const staysIn = async (folder: string, path: string): Promise<boolean> =>
  isBelow(await realpath(path), await realpath(folder))

/** The files of a directory, ordered by name. */
async function* filesIn(folder: string, top: string, skip: (path: string) => void): AsyncGenerator<string> {
  const names = await readdir(folder).catch(() => undefined)
  if (names === undefined) {
    skip(folder)
    return
  }
  for (const name of names.toSorted()) {
    const path = join(folder, name)
    const found = await lstat(path).catch(ignoreRemoved)
    if (found === undefined) continue
    if (found.isSymbolicLink()) {
      const target = await stat(path).catch(() => undefined)
      // A link to a directory may be circular, and a link out of the directory was not requested.
      if (target?.isFile() !== true || (await staysIn(top, path).catch(ignoreRemoved)) !== true) skip(path)
      else if (EXTENSIONS.test(name)) yield path
    } else if (found.isDirectory()) yield* filesIn(path, top, skip)
    else if (found.isFile() && EXTENSIONS.test(name)) yield path
  }
}

/**
 * Selects the files to import.
 * @param from import only files of this program
 * @param recognize finds the program of a file; a caller that scans repeatedly can pass a cached version
 */
export async function planImport(
  paths: readonly string[],
  from: string | undefined,
  recognize: (path: string) => Promise<RecognizedTranscript | undefined> = recognizeTranscript,
): Promise<ImportPlan> {
  const files: PlannedFile[] = []
  const skipped: string[] = []
  /** Paths already in the plan: further files of a conversation, and paths named twice. */
  const plannedPaths = new Set<string>()
  async function addFile(path: string, isFound: boolean): Promise<void> {
    if (plannedPaths.has(resolve(path))) return
    plannedPaths.add(resolve(path))
    const { size: bytes, mtimeMs } = await stat(path)
    const recognized = await recognize(path)
    const named = isFound ? undefined : importers.find(({ program }) => program === from)
    const importer = named ?? recognized?.importer
    if (importer === undefined || (isFound && from !== undefined && importer.program !== from)) {
      if (isFound && (!OUR_EXTENSIONS.test(path) || from !== undefined)) skipped.push(path)
      else files.push({ path, bytes, modifiedAtMs: mtimeMs, program: undefined, isFound })
      return
    }
    const siblings = (await importer.siblings?.(path)) ?? [path]
    let all = 0
    let modifiedAtMs = mtimeMs
    for (const sibling of siblings) {
      plannedPaths.add(resolve(sibling))
      const found = await stat(sibling)
      all += found.size
      modifiedAtMs = Math.max(modifiedAtMs, found.mtimeMs)
    }
    files.push({ path, bytes: Math.max(bytes, all), modifiedAtMs, program: importer.program, isFound })
  }
  for (const path of paths) {
    if (path === '-') {
      files.push({ path, bytes: 0, modifiedAtMs: 0, program: undefined, isFound: false })
      continue
    }
    const { isFolder } = await existing(path)
    if (!isFolder) await addFile(path, false)
    else
      for await (const file of filesIn(path, path, (other) => skipped.push(other)))
        await addFile(file, true).catch((error: unknown) => {
          if (codeOf(error) === 'EACCES' || codeOf(error) === 'EPERM') skipped.push(file)
          else ignoreRemoved(error)
        })
  }
  return { files, skipped }
}
