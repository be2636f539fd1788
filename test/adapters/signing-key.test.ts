/**
 * Keys that sign: who signed is the same, whichever half of the key or its fingerprint is given; what is no key is said
 * to be none.
 */
import { expect, it } from '@jest/globals'
import { createPublicKey } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKeyFile, fingerprintMeant, readPrivateKey } from '../../src/adapters/file/signing-key.js'

it('a fingerprint, a private key and a public key mean the same signer', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'signing-key-'))
  try {
    const file = join(folder, 'operator.pem')
    const fingerprint = await createKeyFile(file)
    const publicFile = join(folder, 'operator.pub.pem')
    await writeFile(publicFile, createPublicKey(await readFile(file, 'utf8')).export({ type: 'spki', format: 'pem' }))
    expect(await fingerprintMeant(file)).toBe(fingerprint)
    expect(await fingerprintMeant(publicFile)).toBe(fingerprint)
    expect(await fingerprintMeant(fingerprint.toUpperCase().replace('SHA256', 'sha256'))).toBe(fingerprint)
    await writeFile(join(folder, 'none'), 'no key')
    await expect(readPrivateKey(join(folder, 'none'))).rejects.toMatchObject({ kind: 'BadKey' })
    await expect(readPrivateKey(publicFile)).rejects.toMatchObject({ kind: 'BadKey' })
    await expect(fingerprintMeant(join(folder, 'gone'))).rejects.toMatchObject({ kind: 'BadKey' })
    await expect(createKeyFile(file)).rejects.toMatchObject({ kind: 'FileExists' })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
