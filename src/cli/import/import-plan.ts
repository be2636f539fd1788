/** Which files `import` takes: those that were named, and what lies in folders, each with whose it is. */
import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { importers, recognizeTranscript, type RecognizedTranscript } from '../../importers/index.js'
import { codeOf, sentenceOf } from '../../ports/store-error.js'
import { neighbour } from '../config/named-files.js'
import { InputError } from '../errors.js'

/** A file to import: a transcript of a program, or messages in a form of ours. */
export interface PlannedFile {
  readonly path: string
  /** Of all files of its conversation. */
  readonly bytes: number
  /** The newest change of any of them, in milliseconds since 1970. */
  readonly changedMs: number
  /** The program; undefined where the file is in a form of ours. */
  readonly program: string | undefined
  /** Found in a folder, so that a file that is nobody's is no mistake of who asked. */
  readonly isFound: boolean
}

export interface ImportPlan {
  readonly files: readonly PlannedFile[]
  /** What lies in folders and is nobody's, or is no file, or leads out of the folder. */
  readonly skipped: readonly string[]
}

/** Endings of files that programs write their conversations into. */
const ENDINGS = /\.(?:jsonl|json|md|traj|db|zst)$/iu
const OUR_ENDINGS = /\.jsonl$/iu

async function existing(path: string): Promise<{ readonly bytes: number; readonly isFolder: boolean }> {
  if (path.trim() === '') throw new InputError('Usage', `a name of a file is empty: "${path}"`)
  try {
    const found = await stat(path)
    if (!found.isFile() && !found.isDirectory()) throw new InputError('Usage', `${path} is neither a file nor a folder`)
    return { bytes: found.size, isFolder: found.isDirectory() }
  } catch (error) {
    if (error instanceof InputError) throw error
    throw new InputError(
      'Usage',
      codeOf(error) === 'ENOENT'
        ? `there is no file ${path}${await neighbour(path)}`
        : `${path} cannot be read: ${sentenceOf(error)}`,
    )
  }
}

/** Undefined for a file that vanished since its folder was read; whatever else is wrong stays wrong. */
export function unlessGone(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR') throw error
}

/** Whether a path stays in a folder when its links are followed. */
async function staysIn(folder: string, path: string): Promise<boolean> {
  const inside = relative(await realpath(folder), await realpath(path))
  return inside !== '..' && !inside.startsWith(`..${sep}`)
}

/** The files of a folder, in the order of their names; what is no file of it is skipped. */
async function* filesIn(folder: string, top: string, skip: (path: string) => void): AsyncGenerator<string> {
  const names = await readdir(folder).catch(() => undefined)
  if (names === undefined) {
    skip(folder)
    return
  }
  for (const name of names.toSorted()) {
    const path = join(folder, name)
    const found = await lstat(path).catch(unlessGone)
    if (found === undefined) continue
    if (found.isSymbolicLink()) {
      const target = await stat(path).catch(() => undefined)
      // A link to a folder may lead round in a circle, and one out of the folder was not asked for.
      if (target?.isFile() !== true || (await staysIn(top, path).catch(unlessGone)) !== true) skip(path)
      else if (ENDINGS.test(name)) yield path
    } else if (found.isDirectory()) yield* filesIn(path, top, skip)
    else if (found.isFile() && ENDINGS.test(name)) yield path
  }
}

/**
 * What there is to import.
 * @param from the program whose files alone are meant
 * @param recognize tells whose a file is; who looks again and again may know it by the time of its last change
 */
export async function planImport(
  paths: readonly string[],
  from: string | undefined,
  recognize: (path: string) => Promise<RecognizedTranscript | undefined> = recognizeTranscript,
): Promise<ImportPlan> {
  const files: PlannedFile[] = []
  const skipped: string[] = []
  /** Files of a conversation that is several, and what was named twice. */
  const taken = new Set<string>()
  async function take(path: string, isFound: boolean): Promise<void> {
    if (taken.has(resolve(path))) return
    taken.add(resolve(path))
    const { size: bytes, mtimeMs } = await stat(path)
    const recognized = await recognize(path)
    const named = isFound ? undefined : importers.find(({ program }) => program === from)
    const importer = named ?? recognized?.importer
    if (importer === undefined || (isFound && from !== undefined && importer.program !== from)) {
      if (isFound && (!OUR_ENDINGS.test(path) || from !== undefined)) skipped.push(path)
      else files.push({ path, bytes, changedMs: mtimeMs, program: undefined, isFound })
      return
    }
    const siblings = (await importer.siblings?.(path)) ?? [path]
    let all = 0
    let changedMs = mtimeMs
    for (const sibling of siblings) {
      taken.add(resolve(sibling))
      const found = await stat(sibling)
      all += found.size
      changedMs = Math.max(changedMs, found.mtimeMs)
    }
    files.push({ path, bytes: Math.max(bytes, all), changedMs, program: importer.program, isFound })
  }
  for (const path of paths) {
    if (path === '-') {
      files.push({ path, bytes: 0, changedMs: 0, program: undefined, isFound: false })
      continue
    }
    const { isFolder } = await existing(path)
    if (!isFolder) await take(path, false)
    else
      for await (const file of filesIn(path, path, (left) => skipped.push(left)))
        await take(file, true).catch((error: unknown) => {
          if (codeOf(error) === 'EACCES' || codeOf(error) === 'EPERM') skipped.push(file)
          else unlessGone(error)
        })
  }
  return { files, skipped }
}
