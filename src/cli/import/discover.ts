/** What this machine has of other programs' conversations, where these programs keep them. */
import { stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { importers } from '../../importers/index.js'
import { InputError } from '../errors.js'
import { colours, count, line, many, printable, showTable, toJson } from '../output.js'
import { planImport, type PlannedFile } from './import-plan.js'

/** What one program has on this machine. */
export interface Discovered {
  readonly program: string
  readonly title: string
  /** Where it lies. */
  readonly homes: readonly string[]
  readonly files: readonly PlannedFile[]
  readonly bytes: number
  /** The newest and the oldest change of them, ISO 8601. */
  readonly newest: string | undefined
  readonly oldest: string | undefined
}

const isThere = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined)) !== undefined

/** Where these programs keep their conversations, whether it is there or not. */
export const homesOf = (from: string | undefined): readonly string[] =>
  importers
    .filter(({ program }) => from === undefined || program === from)
    .flatMap((importer) => importer.homes(process.env, homedir()))

/** Looks where each program keeps its conversations; what several of them name is the first one's. */
export async function discover(from: string | undefined): Promise<readonly Discovered[]> {
  const found: Discovered[] = []
  const seen = new Set<string>()
  for (const importer of importers) {
    const { program, title } = importer
    if (from !== undefined && program !== from) continue
    const there: string[] = []
    for (const home of importer.homes(process.env, homedir())) if (await isThere(home)) there.push(home)
    const { files } = await planImport(there, program)
    const own = files.filter((file) => file.program === program && !seen.has(resolve(file.path)))
    for (const { path } of own) seen.add(resolve(path))
    if (own.length === 0) continue
    const times = own.map(({ changedMs }) => changedMs)
    found.push({
      program,
      title,
      homes: there,
      files: own,
      bytes: own.reduce((sum, { bytes }) => sum + bytes, 0),
      newest: new Date(Math.max(...times)).toISOString(),
      oldest: new Date(Math.min(...times)).toISOString(),
    })
  }
  return found
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

/** Shows what there is, and how it is taken. */
export async function showDiscovered(found: readonly Discovered[], json: boolean): Promise<void> {
  if (json) {
    await line(
      toJson(
        found.map(({ program, title, homes, files, bytes, newest, oldest }) => ({
          program,
          title,
          homes,
          files: files.map(({ path, bytes: size }) => ({ path, bytes: size })),
          bytes,
          newest,
          oldest,
        })),
      ),
    )
    return
  }
  if (found.length === 0) {
    await line(
      `no program that we know keeps conversations here (${importers.map(({ title }) => title).join(', ')}); \`import PATH\` takes them from anywhere`,
    )
    return
  }
  await showTable(
    ['program', 'files', 'size', 'oldest', 'newest', 'where'],
    found.map(({ program, files, bytes, oldest = '', newest = '', homes }) => [
      program,
      count(files.length),
      megabytes(bytes),
      oldest.slice(0, 10),
      newest.slice(0, 10),
      printable(homes.join(', ')),
    ]),
    new Set([1, 2]),
  )
  const files = found.reduce((sum, each) => sum + each.files.length, 0)
  await line(colours.dim(`${many(files, 'file')}; \`import --discover --yes\` takes all of them`))
}

/** The program that was named, where there is such a one. */
export function checkProgram(from: string | undefined): void {
  if (from !== undefined && !importers.some(({ program }) => program === from))
    throw new InputError(
      'Usage',
      `--from names no program that we know: there are ${importers.map(({ program }) => program).join(', ')}`,
    )
}
