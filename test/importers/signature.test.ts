/** The signature of a transcript of several files. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signaturesOf } from '../../src/application/importers/signature.js'
import { pi } from '../../src/application/importers/pi.js'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signature-'))
})
afterEach(() => rm(folder, { recursive: true }))

const signature = async (files: readonly string[]) => {
  const [path = ''] = files
  return (await signaturesOf(path, { ...pi, siblings: () => Promise.resolve(files) }, undefined, String)).file
}

it('is that of the files that exist: the log of a database may be gone when it is read', async () => {
  const database = join(folder, 'sessions.db')
  await writeFile(database, 'rows')
  expect(await signature([database, `${database}-wal`])).toEqual(await signature([database]))
  await writeFile(`${database}-wal`, 'more')
  expect(await signature([database, `${database}-wal`])).not.toEqual(await signature([database]))
  await expect(signature([join(folder, 'missing.db')])).rejects.toMatchObject({ code: 'ENOENT' })
})
