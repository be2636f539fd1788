/** A report, written to a file that is not there yet: whole, or not at all. */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, link, lstat, rm, writeFile } from 'node:fs/promises'
import { codeOf } from '../ports/store-error.js'

/** A file is there already: the error that writing it would end with. */
const isThere = (file: string): Error => Object.assign(new Error(`${file} is there already`), { code: 'EEXIST' })

/**
 * Writes what `make` gives; a file that is there already is never written over, and refused before anything is made.
 * Whoever stops this in the middle finds no file with that name.
 */
export async function writeReport(file: string, make: () => Promise<string>): Promise<{ readonly bytes: number }> {
  const known = await lstat(file).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (known !== undefined) throw isThere(file)
  const draft = `${file}.${randomBytes(4).toString('hex')}.part`
  // Where it cannot be written is told before the report is made, which takes its time.
  await writeFile(draft, '', { flag: 'wx' })
  try {
    const text = await make()
    await writeFile(draft, text)
    // A link is there whole or not at all. A file system without them gets a copy.
    await link(draft, file).catch(async (error: unknown) => {
      if (codeOf(error) === 'EEXIST') throw error
      await copyFile(draft, file, constants.COPYFILE_EXCL)
    })
    return { bytes: Buffer.byteLength(text) }
  } finally {
    await rm(draft, { force: true })
  }
}
