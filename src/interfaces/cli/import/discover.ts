/** Finds transcripts of other programs in their default directories on this machine. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { homeFolder } from '../../../lib/user-folders.js'
import { importers } from '../../../application/importers/index.js'
import { didYouMean, nameMeant } from '../../../domain/text/known-names.js'
import { colours, count, line, many, printable, showTable } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { planImport, type PlannedFile } from './import-plan.js'

/** The transcripts of one program. */
export interface Discovered {
  readonly program: string
  readonly title: string
  /** Existing directories of the program. */
  readonly homes: readonly string[]
  readonly files: readonly PlannedFile[]
  readonly bytes: number
  /** Times of the newest and the oldest change, ISO 8601. */
  readonly newest: string | undefined
  readonly oldest: string | undefined
}

const exists = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined)) !== undefined

/** Default directories of the programs, whether they exist or not. */
export const homesOf = (from: string | undefined): readonly string[] =>
  importers
    .filter(({ program }) => from === undefined || program === from)
    .flatMap((importer) => importer.homes(process.env, homeFolder()))

/** Scans the default directories of each program. A file found for several programs belongs to the first. */
export async function discover(from: string | undefined): Promise<readonly Discovered[]> {
  const found: Discovered[] = []
  const claimedPaths = new Set<string>()
  for (const importer of importers) {
    const { program, title } = importer
    if (from !== undefined && program !== from) continue
    const existingHomes: string[] = []
    for (const home of importer.homes(process.env, homeFolder())) if (await exists(home)) existingHomes.push(home)
    const { files } = await planImport(existingHomes, program)
    const newFiles = files.filter((file) => file.program === program && !claimedPaths.has(resolve(file.path)))
    for (const { path } of newFiles) claimedPaths.add(resolve(path))
    if (newFiles.length === 0) continue
    const times = newFiles.map(({ modifiedAtMs }) => modifiedAtMs)
    found.push({
      program,
      title,
      homes: existingHomes,
      files: newFiles,
      bytes: newFiles.reduce((sum, { bytes }) => sum + bytes, 0),
      newest: new Date(Math.max(...times)).toISOString(),
      oldest: new Date(Math.min(...times)).toISOString(),
    })
  }
  return found
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

/** Prints the transcripts and how to import them. */
export async function showDiscovered(found: readonly Discovered[], json: boolean): Promise<void> {
  if (json) {
    await line(
      toWire(
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
      `found no transcripts in the default directories of ${importers.map(({ title }) => title).join(', ')}; to import from elsewhere, use \`import PATH\``,
    )
    return
  }
  await showTable(
    ['program', 'files', 'size', 'oldest', 'newest', 'directory'],
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
  await line(colours.dim(`${many(files, 'file')}; \`import --discover --yes\` imports all of them`))
}

/** Rejects an unknown program in `--from`. */
export function checkProgram(from: string | undefined): void {
  const programs: readonly string[] = importers.map(({ program }) => program)
  if (from !== undefined && !programs.includes(from))
    throw new LedgerError(
      'Usage',
      `--from must be one of ${programs.join(', ')}; got "${printable(from)}"${didYouMean(nameMeant(from, programs))}`,
    )
}
