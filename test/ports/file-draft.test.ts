/** A file is written whole or not at all: on a full disk the earlier file stays, nothing else remains, and the next try works. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { mkdtemp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from '@jest/globals'
import { publishCheckpointFile } from '../../src/adapters/file/checkpoint-file.js'
import { createLogFile } from '../../src/adapters/file/log-file.js'
import { createKeyFile } from '../../src/adapters/file/signing-key.js'
import { readOrCreatePepper } from '../../src/interfaces/cli/config/pepper.js'
import { readSettings, writeSettings } from '../../src/interfaces/cli/install/settings-file.js'
import { PushFolder } from '../../src/interfaces/cli/push/push-folder.js'
import { createFile, replaceFile } from '../../src/ports/file-draft.js'
import { writeNewFile } from '../../src/ports/new-file.js'

/** Only root can mount a small disk, on Linux. */
function mayMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'context-ledger-mount-'))
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', folder]).status === 0
  if (isMounted) spawnSync('umount', ['-l', folder])
  rmdirSync(folder)
  return isMounted
}
const canMount = process.platform === 'linux' && process.getuid?.() === 0 && mayMount()

/** Larger than what remains free on the disk. */
const TEXT = 'x'.repeat(100_000)

/** Each way to write a file: into an empty folder, or over an earlier file. */
const WRITERS: Readonly<Record<string, (folder: string) => Promise<unknown>>> = {
  'a file that replaces one': (folder) => replaceFile(join(folder, 'earlier'), TEXT),
  'a new file': (folder) => createFile(join(folder, 'new'), TEXT),
  'a new file from a command': (folder) => writeNewFile(join(folder, 'page.html'), () => Promise.resolve(TEXT)),
  'a checkpoint': (folder) => publishCheckpointFile(join(folder, 'c'), { origin: 'o', size: 1, note: TEXT }),
  'a signing key': (folder) => createKeyFile(join(folder, 'key.pem')),
  'the pepper of keys': (folder) => readOrCreatePepper({ store: join(folder, 'ledger') }),
  'the state of a pushed transcript': async (folder) => {
    const push = await PushFolder.open(join(folder, 'push'))
    try {
      await push.remember('a.jsonl', TEXT)
    } finally {
      await push.close()
    }
  },
  'settings of two programs': async (folder) => {
    const [earlier, settings] = [
      await readSettings(join(folder, 'earlier')),
      await readSettings(join(folder, 'second')),
    ]
    await writeSettings([
      { file: earlier, text: 'changed' },
      { file: settings, text: TEXT },
    ])
  },
  'a log file': async (folder) => {
    const target = await createLogFile(join(folder, 'earlier'), { overwrite: true })
    try {
      await target.end()
      await target.publish?.()
    } finally {
      await target.abandon?.()
    }
  },
}

/** Fills a disk. The kernel counts free pages roughly, so it is full when small files fail several times. */
async function fill(disk: string): Promise<void> {
  await mkdir(join(disk, 'filling'))
  let size = 2 ** 18
  for (let [number, failures] = [0, 0]; failures < 8; number += 1) {
    const isWritten = await writeFile(join(disk, 'filling', String(number)), 'f'.repeat(size)).then(
      () => true,
      () => false,
    )
    failures = isWritten || size > 1 ? 0 : failures + 1
    if (!isWritten) size = Math.max(1, Math.floor(size / 2))
  }
}

const contentOf = async (folder: string): Promise<unknown> =>
  await Promise.all(
    (await readdir(folder, { recursive: true, withFileTypes: true }))
      .filter((item) => item.isFile() && !item.parentPath.endsWith('filling'))
      .map(async ({ name, parentPath }) => [name, await readFile(join(parentPath, name), 'utf8')]),
  )

;(canMount ? describe : describe.skip)('on a full disk', () => {
  let disk: string
  beforeAll(async () => {
    disk = await mkdtemp(join(tmpdir(), 'context-ledger-full-'))
    spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk])
  })
  afterAll(async () => {
    spawnSync('umount', ['-l', disk])
    await rm(disk, { recursive: true, force: true })
  })
  beforeEach(async () => {
    for (const name of await readdir(disk)) await rm(join(disk, name), { recursive: true })
    await mkdir(join(disk, 'push/files'), { recursive: true })
    await mkdir(join(disk, 'push/uploads'))
    await writeFile(join(disk, 'earlier'), 'earlier')
    await fill(disk)
  })

  it.each(Object.keys(WRITERS))('%s', async (name) => {
    const write = WRITERS[name] ?? (() => Promise.resolve())
    const before = await contentOf(disk)
    await expect(write(disk)).rejects.toThrow(/space|cannot be written|could not be written/u)
    expect(await contentOf(disk)).toEqual(before)
    await rm(join(disk, 'filling'), { recursive: true })
    await write(disk)
    expect(await contentOf(disk)).not.toEqual(before)
  })
})

test('a new file is refused if it exists', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'context-ledger-new-'))
  await createFile(join(folder, 'a'), 'one')
  await expect(createFile(join(folder, 'a'), 'two')).rejects.toMatchObject({ code: 'EEXIST' })
  expect(await readdir(folder)).toEqual(['a'])
  expect(await readFile(join(folder, 'a'), 'utf8')).toBe('one')
  await rm(folder, { recursive: true })
})
