/** The key vaults of this package: a folder and memory. Also what the folder's files contain. */
import { expect, it } from '@jest/globals'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKeyFolder } from '../../src/adapters/file/key-folder.js'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { describeKeyVault } from '../contracts/key-vault.js'

describeKeyVault('memory', async () => {
  const vault = createMemoryKeyVault()
  return { vault, another: () => vault, close: async () => undefined }
})

describeKeyVault('folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'keys-'))
  return {
    vault: createKeyFolder(folder),
    another: () => createKeyFolder(folder),
    close: () => rm(folder, { recursive: true, force: true }),
  }
})

async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const parent = await mkdtemp(join(tmpdir(), 'keys-'))
  try {
    await run(join(parent, 'keys'))
  } finally {
    await rm(parent, { recursive: true, force: true })
  }
}

it('a key file belongs to its owner alone, and no byte of a destroyed key is left', async () => {
  await withFolder(async (folder) => {
    const vault = createKeyFolder(folder)
    await vault.wrap('cl-a-1', new Uint8Array(32).fill(7))
    const file = join(folder, 'cl-a-1.key')
    const key = (await readFile(file, 'utf8')).slice('context-ledger key 1 '.length, -1)
    expect(Buffer.from(key, 'base64')).toHaveLength(32)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    await vault.destroy('cl-a-1')
    expect(await readdir(folder)).toEqual(['cl-a-1.key'])
    expect(await readFile(file, 'utf8')).toBe('context-ledger key destroyed\n')
  })
})

it('a damaged key file is named, and is not a destroyed key', async () => {
  await withFolder(async (folder) => {
    const vault = createKeyFolder(folder)
    const wrapped = await vault.wrap('cl-a-1', new Uint8Array(32))
    await writeFile(join(folder, 'cl-a-1.key'), 'context-ledger key 1 AAAA')
    await expect(vault.unwrap('cl-a-1', wrapped)).rejects.toMatchObject({ kind: 'WrappedKeyDamaged' })
    await expect(vault.wrap('cl-a-1', new Uint8Array(32))).rejects.toMatchObject({ kind: 'WrappedKeyDamaged' })
  })
})

it('a folder that cannot be used is an error that names it', async () => {
  await withFolder(async (folder) => {
    await writeFile(folder, 'a file')
    await expect(createKeyFolder(folder).wrap('cl-a-1', new Uint8Array(32))).rejects.toMatchObject({
      kind: 'KeyVaultUnavailable',
      message: expect.stringContaining(folder),
    })
  })
})
