/** Writes a report to a new file, atomically. */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, link, lstat, rm, writeFile } from 'node:fs/promises'
import { PRIVATE_FILE } from '../ports/private-files.js'
import { codeOf } from '../ports/store-error.js'

/** The error for an existing file, like that of the file system. */
const fileExists = (file: string): Error => Object.assign(new Error(`${file} already exists`), { code: 'EEXIST' })

/**
 * Writes the text that `make` returns. An existing file is an error before `make` is called. If the process is
 * interrupted, no file with that name exists.
 */
export async function writeReport(file: string, make: () => Promise<string>): Promise<{ readonly bytes: number }> {
  const known = await lstat(file).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (known !== undefined) throw fileExists(file)
  const draft = `${file}.${randomBytes(4).toString('hex')}.part`
  // Fail early if the file cannot be written, because making the report takes time.
  await writeFile(draft, '', { flag: 'wx', mode: PRIVATE_FILE })
  try {
    const text = await make()
    await writeFile(draft, text)
    // A hard link is atomic. A file system without hard links gets a copy.
    await link(draft, file).catch(async (error: unknown) => {
      if (codeOf(error) === 'EEXIST') throw error
      await copyFile(draft, file, constants.COPYFILE_EXCL)
    })
    return { bytes: Buffer.byteLength(text) }
  } finally {
    await rm(draft, { force: true })
  }
}
