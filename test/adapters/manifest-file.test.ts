/** A manifest as a file: it is read as it was written, whatever the stream names. */
import { expect, it } from '@jest/globals'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createManifestFile, openManifestFile } from '../../src/adapters/file/manifest-file.js'

it('stream names may contain Unicode line separators; a folder or a missing file is an error', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'manifest-file-'))
  try {
    const path = join(folder, 'monday.manifest')
    const stream = 'conversation-a\u2028b'
    const header = { ledger: 'postgres', origin: { stream, id: 'e1' }, takenAt: '2026-03-01T12:30:00.000Z' }
    const draft = await createManifestFile(path, header, generateKeyPairSync('ed25519').privateKey)
    const head = { stream, revision: 2, hash: 'ab'.repeat(32) }
    await draft.add(head)
    const { fingerprint } = await draft.publish()
    const manifest = await openManifestFile(path)
    expect(manifest).toMatchObject({ header, streams: 1, fingerprint })
    const heads = []
    for await (const each of manifest.heads()) heads.push(each)
    expect(heads).toEqual([head])
    for (const unreadable of [folder, join(folder, 'none')])
      await expect(openManifestFile(unreadable)).rejects.toMatchObject({ kind: 'FileUnusable' })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
