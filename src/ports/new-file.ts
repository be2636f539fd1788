/** Writes a new file atomically. */
import { lstat } from 'node:fs/promises'
import { LedgerError } from '../lib/ledger-error.js'
import { FileDraft } from './file-draft.js'
import { codeOf, sentenceOf } from './store-error.js'

/** The error of a failed write. The message of the system ends with the name of the draft, which is removed. */
function unwritable(error: unknown, file: string): unknown {
  const code = codeOf(error)
  if (code === 'EEXIST') return new LedgerError('FileExists', `${file} already exists: choose another file`)
  return code === undefined
    ? error
    : new LedgerError('FileUnusable', `${file} cannot be written: ${sentenceOf(error).replace(/, \w+ '.*$/u, '')}`)
}

async function rejectExisting(file: string): Promise<void> {
  const known = await lstat(file).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (known !== undefined) throw Object.assign(new Error(), { code: 'EEXIST' })
}

/**
 * Writes the text that `make` returns. If the file exists or cannot be written, this is reported before `make` is
 * called. If the process is interrupted, no file with that name exists.
 * @param beforePublished called when the whole text is on the disk, under another name
 * @returns the size in bytes
 */
export async function writeNewFile(
  file: string,
  make: () => Promise<string>,
  beforePublished?: () => Promise<void>,
): Promise<number> {
  const writing = async <T>(work: Promise<T>): Promise<T> =>
    await work.catch((error: unknown) => {
      throw unwritable(error, file)
    })
  await writing(rejectExisting(file))
  const draft = await writing(FileDraft.open(file))
  try {
    const text = await make()
    await writing(draft.file.writeFile(text))
    await writing(draft.finish())
    await beforePublished?.()
    await writing(draft.create())
    return Buffer.byteLength(text)
  } finally {
    await draft.discard()
  }
}
