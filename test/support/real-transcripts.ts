/**
 * Raw files that other programs wrote. They are not part of the repository: `CONTEXT_LEDGER_TRANSCRIPTS` names their
 * folder; by default it is next to the checkout. If the folder is missing, its tests are skipped by name.
 */
import { describe } from '@jest/globals'
import { existsSync, statSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { planImport } from '../../src/interfaces/cli/import/import-plan.js'
import { isLong } from './length.js'

const folder = resolve(process.env['CONTEXT_LEDGER_TRANSCRIPTS'] ?? join('..', 'shared', 'transcripts'))
const isThere = existsSync(folder)

export const describeWithTranscripts: typeof describe.skip = isThere ? describe : describe.skip

/** The folder of them all. */
export const transcriptsFolder = folder

/** A conversation's file, or the one that its files are known by. */
export interface RealTranscript {
  readonly path: string
  /** Its path in the folder. */
  readonly name: string
  readonly program: string
}

/** `npm test` takes the files up to this size: a third of all bytes, with compactions of most programs. */
const MOST_BYTES = isLong ? Number.POSITIVE_INFINITY : 400_000

/** The files that `import` takes of the folder; none where it is not there. */
export async function realTranscripts(): Promise<readonly RealTranscript[]> {
  const { files } = isThere ? await planImport([folder], undefined) : { files: [] }
  return files.flatMap(({ path, program }) =>
    program === undefined || statSync(path).size > MOST_BYTES
      ? []
      : [{ path, program, name: relative(folder, path).split(sep).join('/') }],
  )
}
