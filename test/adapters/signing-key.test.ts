/**
 * Signing keys: the private key, the public key and the fingerprint identify the same signer; a file without a key is an
 * error.
 */
import { expect, it } from '@jest/globals'
import { createPublicKey } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKeyFile, fingerprintFrom, readPrivateKey } from '../../src/adapters/file/signing-key.js'

it('a fingerprint, a private key and a public key mean the same signer', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'signing-key-'))
  try {
    const file = join(folder, 'operator.pem')
    const fingerprint = await createKeyFile(file)
    const publicFile = join(folder, 'operator.pub.pem')
    await writeFile(publicFile, createPublicKey(await readFile(file, 'utf8')).export({ type: 'spki', format: 'pem' }))
    expect(await fingerprintFrom(file)).toBe(fingerprint)
    expect(await fingerprintFrom(publicFile)).toBe(fingerprint)
    expect(await fingerprintFrom(fingerprint.toUpperCase().replace('SHA256', 'sha256'))).toBe(fingerprint)
    await writeFile(join(folder, 'none'), 'no key')
    await expect(readPrivateKey(join(folder, 'none'))).rejects.toMatchObject({ kind: 'BadKey' })
    await expect(readPrivateKey(publicFile)).rejects.toMatchObject({ kind: 'BadKey' })
    await expect(fingerprintFrom(join(folder, 'gone'))).rejects.toMatchObject({ kind: 'BadKey' })
    await expect(createKeyFile(file)).rejects.toMatchObject({ kind: 'FileExists' })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
