/** Writes the evidence of `measure`: a file for each row, with everything that it counts. */
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { rowOf, type ProgramSessions } from '../../../application/losses/measured-programs.js'
import { toWire } from '../../../domain/values/revision.js'
import { LedgerError } from '../../../lib/ledger-error.js'
import { writeNewFile } from '../../../ports/new-file.js'
import { PRIVATE_FOLDER } from '../../../ports/private-files.js'
import { codeOf, sentenceOf } from '../../../ports/store-error.js'

/** The evidence file of a row. */
export const evidenceFileOf = ({ program, version }: Pick<ProgramSessions, 'program' | 'version'>): string =>
  `${`${program}-${version}`.replaceAll(/[^\w.+-]+/gu, '_')}.json`

const unusable = (folder: string, error: unknown): LedgerError =>
  new LedgerError('FileUnusable', `${folder} cannot be used: ${sentenceOf(error)}`)

/** Throws if the directory has files: evidence of two measurements must not be mixed. */
export async function rejectUsedFolder(folder: string): Promise<void> {
  if (folder.trim() === '') throw new LedgerError('Usage', '--evidence needs the name of a directory')
  const names = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return []
    throw unusable(folder, error)
  })
  if (names.length > 0) throw new LedgerError('FileExists', `${folder} is not empty: choose a new directory`)
}

/** Writes a file for each row. */
export async function writeEvidence(folder: string, programs: readonly ProgramSessions[]): Promise<void> {
  await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER }).catch((error: unknown) => {
    throw unusable(folder, error)
  })
  for (const each of programs) {
    const text = `${toWire({ row: rowOf(each), sessions: each.sessions }, 2)}\n`
    await writeNewFile(join(folder, evidenceFileOf(each)), () => Promise.resolve(text))
  }
}
