/** The key vaults of this package without a network: folders and memory. Also what the files of folders contain. */
import { expect, it } from '@jest/globals'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKeyFolder, unwrapUnder, wrapUnder } from '../../src/adapters/file/key-folder.js'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import type { KeyEnvelope } from '../../src/ports/key-envelope.js'
import { keyVaultError } from '../../src/ports/key-vault.js'
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

/** An envelope under a key in memory. */
function memoryEnvelope(name = 'service'): KeyEnvelope & { wrongAnswer?: Uint8Array } {
  const key = Uint8Array.from(randomBytes(32))
  return {
    name,
    seal: (keyName, bytes) => Promise.resolve(wrapUnder(key, keyName, bytes)),
    open(keyName, sealed) {
      const opened = this.wrongAnswer ?? unwrapUnder(key, keyName, sealed)
      return opened === undefined
        ? Promise.reject(keyVaultError('WrappedKeyDamaged', `${name} did not seal this`))
        : Promise.resolve(opened)
    },
  }
}

describeKeyVault('sealed folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'keys-'))
  const envelope = memoryEnvelope()
  return {
    vault: createKeyFolder(folder, envelope),
    another: () => createKeyFolder(folder, envelope),
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

it('a sealed folder opens with its own service alone, and a folder is sealed or not', async () => {
  await withFolder(async (folder) => {
    const envelope = memoryEnvelope()
    const sealed = await createKeyFolder(folder, envelope).wrap('cl-a-1', new Uint8Array(32))
    const plain = await createKeyFolder(folder).wrap('cl-b-1', new Uint8Array(32))
    await expect(createKeyFolder(folder, memoryEnvelope()).unwrap('cl-a-1', sealed)).rejects.toMatchObject({
      kind: 'WrappedKeyDamaged',
    })
    await expect(createKeyFolder(folder).unwrap('cl-a-1', sealed)).rejects.toMatchObject({
      kind: 'KeyUnknown',
      message: expect.stringContaining('is sealed'),
    })
    await expect(createKeyFolder(folder, envelope).unwrap('cl-b-1', plain)).rejects.toMatchObject({
      kind: 'KeyUnknown',
      message: expect.stringContaining('is not sealed'),
    })
    await writeFile(join(folder, 'cl-a-1.key'), 'something else')
    await expect(createKeyFolder(folder, envelope).unwrap('cl-a-1', sealed)).rejects.toMatchObject({
      kind: 'WrappedKeyDamaged',
    })
  })
})

it('a service that returns another key than it sealed leaves no file', async () => {
  await withFolder(async (folder) => {
    const envelope = memoryEnvelope()
    envelope.wrongAnswer = new Uint8Array(32)
    const vault = createKeyFolder(folder, envelope)
    await expect(vault.wrap('cl-a-1', new Uint8Array(32))).rejects.toMatchObject({ kind: 'KeyVaultUnavailable' })
    delete envelope.wrongAnswer
    await vault.wrap('cl-a-1', new Uint8Array(32))
    expect(await readdir(folder)).toEqual(['cl-a-1.key'])
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
