/** Writes a new file atomically. */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, link, lstat, rm, writeFile } from 'node:fs/promises'
import { LedgerError } from '../lib/ledger-error.js'
import { PRIVATE_FILE } from './private-files.js'
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

/** Gives the draft the name of the file, unless another process created the file meanwhile. */
async function publish(draft: string, file: string): Promise<void> {
  // A hard link is atomic. A file system without hard links gets a copy.
  await link(draft, file).catch(async (error: unknown) => {
    if (codeOf(error) === 'EEXIST') throw error
    await copyFile(draft, file, constants.COPYFILE_EXCL)
  })
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
  const draft = `${file}.${randomBytes(4).toString('hex')}.part`
  await writing(writeFile(draft, '', { flag: 'wx', mode: PRIVATE_FILE }))
  try {
    const text = await make()
    await writing(writeFile(draft, text))
    await beforePublished?.()
    await writing(publish(draft, file))
    return Buffer.byteLength(text)
  } finally {
    await rm(draft, { force: true })
  }
}
