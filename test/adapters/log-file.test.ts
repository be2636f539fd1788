/**
 * A log in a file: it is restored completely, equal logs make equal files, and damage is reported with its line.
 */
import { LedgerError } from '../../src/lib/ledger-error.js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { createLogFile, openLogFile } from '../../src/adapters/file/log-file.js'
import { copyLog } from '../../src/application/backup/migrate-log.js'
import { isLogCopyError, type LogTarget } from '../../src/ports/log-copy.js'
import { collect } from '../support/events.js'
import {
  emptyLog,
  eventsOf,
  EVERYTHING,
  histories,
  LARGE,
  write,
  type Append,
  type TestLog,
} from '../support/log-history.js'
import { isLong, runsOf } from '../support/length.js'

let folder: string
let files = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'context-ledger-file-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))
const newPath = (): string => join(folder, `log-${String(files++)}.clog.gz`)

async function backup(history: readonly Append[], path = newPath()): Promise<{ path: string; log: TestLog }> {
  const log = emptyLog('A')
  await write(log, history)
  expect((await copyLog(log.source, await createLogFile(path))).difference).toBeUndefined()
  return { path, log }
}

/** Restores a log from these bytes; returns the log, or the error. */
async function restore(bytes: Uint8Array): Promise<{ error?: LedgerError; log: TestLog }> {
  const path = newPath()
  await writeFile(path, bytes)
  const log = emptyLog('B')
  try {
    await copyLog(openLogFile(path), log.target)
    return { log }
  } catch (error) {
    if (!isLogCopyError(error)) throw error
    // From a damaged file no event is restored.
    if ((await log.store.head()) !== -1) throw new Error('events were restored from a damaged file', { cause: error })
    return { error, log }
  }
}

/** The long tests try every byte of a file; the others try some. */
const everyByte = isLong ? 1 : 23
const SMALL: readonly Append[] = [
  { stream: 'conversation-a', texts: ['', 'one 🚢'] },
  { stream: 'prompt-b', texts: ['Summarize'] },
  { stream: 'conversation-a', texts: ['two'] },
]
const plainOf = async (path: string): Promise<string> => gunzipSync(await readFile(path)).toString('utf8')

describe('a log in a file', () => {
  it('is restored unchanged, whatever its content', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const { path, log } = await backup(history)
        const copy = emptyLog('B')
        expect((await copyLog(openLogFile(path), copy.target)).difference).toBeUndefined()
        expect(await eventsOf(copy.store)).toEqual(await eventsOf(log.store))
        await rm(path)
      }),
      { numRuns: runsOf(40) },
    )
  })

  it('equals another file of the same log', async () => {
    const [one, two] = [await backup(EVERYTHING), await backup(EVERYTHING)]
    expect(await readFile(one.path)).toEqual(await readFile(two.path))
  })

  it('is recognized by its content: uncompressed, or under any name', async () => {
    const { path, log } = await backup(EVERYTHING)
    const { error, log: back } = await restore(gunzipSync(await readFile(path)))
    expect(error).toBeUndefined()
    expect(await eventsOf(back.store)).toEqual(await eventsOf(log.store))
  })

  it('can be compressed in one piece or in many', async () => {
    const { path, log } = await backup(EVERYTHING)
    const { error, log: back } = await restore(gzipSync(await plainOf(path)))
    expect(error).toBeUndefined()
    expect(await eventsOf(back.store)).toEqual(await eventsOf(log.store))
  })

  it('can be copied into another file', async () => {
    const { path } = await backup(EVERYTHING)
    const second = newPath()
    await copyLog(openLogFile(path), await createLogFile(second))
    expect(await readFile(second)).toEqual(await readFile(path))
  })

  it('contains each body once, before the first event that names it', async () => {
    const { path } = await backup(EVERYTHING)
    const lines = (await plainOf(path)).trimEnd().split('\n')
    expect(lines).toHaveLength(1 + 12 + 2 + 1)
    expect(lines.filter((line) => line.startsWith('{"body":'))).toHaveLength(2)
    for (const line of lines)
      expect(() => {
        JSON.parse(line)
      }).not.toThrow()
  })

  it('is readable only by its owner', async () => {
    expect((await stat((await backup(SMALL)).path)).mode & 0o077).toBe(0)
  })
})

describe('a stored file', () => {
  it('of version 1 can always be read', async () => {
    const expected: unknown = JSON.parse(await readFile('test/fixtures/log-files/v1.json', 'utf8'))
    const log = emptyLog('B')
    const { totals } = await copyLog(openLogFile('test/fixtures/log-files/v1.clog.gz'), log.target)
    const events = (await eventsOf(log.store)).map((event) => ({ ...event, revision: event.revision.toString() }))
    expect({ totals, events }).toEqual(expected)
    expect(await log.bodies.get(sha256OfBody(events))).toContain(LARGE.slice(0, 1_000))
  })

  it('of a later version is rejected', async () => {
    const plain = (await plainOf((await backup(SMALL)).path)).replace('"version":1', '"version":2')
    expect((await restore(Buffer.from(plain))).error).toMatchObject({
      kind: 'NoLogFile',
      message: expect.stringContaining('later version'),
    })
  })
})

const sha256OfBody = (events: readonly { readonly data: string }[]): string =>
  events.flatMap(({ data }) => /^\{"claimCheck":\{"sha256":"([\da-f]{64})"/u.exec(data)?.[1] ?? [])[0] ?? ''

describe('a damaged file', () => {
  it('is rejected, whichever byte differs', async () => {
    const { path } = await backup(SMALL)
    const plain = Buffer.from(await plainOf(path))
    for (let at = 0; at < plain.length; at += everyByte) {
      const bytes = Buffer.from(plain)
      bytes[at] = (bytes[at] ?? 0) ^ 0x01
      const { error } = await restore(bytes)
      const line = plain.subarray(0, at).filter((byte) => byte === 0x0a).length + 1
      // A changed line feed moves the error to the line before or after. Without its header it is not a log file.
      const sentence =
        line === 1
          ? /is not a log file|later version|line [12]\b/u
          : new RegExp(`line (?:${String(line)}|${String(line - 1)}|${String(line + 1)})\\b`, 'u')
      expect([at, error?.message]).toEqual([at, expect.stringMatching(sentence)])
    }
  })

  it('is rejected or restores the same log, whichever bit of the compressed file differs', async () => {
    const { path, log } = await backup(SMALL)
    const expected = await eventsOf(log.store)
    const packed = await readFile(path)
    let rejected = 0
    let count = 0
    for (let at = 0; at < packed.length; at += everyByte) {
      const bytes = Buffer.from(packed)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8))
      const { error, log: back } = await restore(bytes)
      expect(await eventsOf(back.store)).toEqual(error === undefined ? expected : [])
      if (error !== undefined) rejected += 1
      count += 1
    }
    // Only the time, the system and the flags in a gzip header may differ; they do not affect the content.
    expect(rejected).toBeGreaterThan(count - 40)
  })

  it('is rejected wherever it is cut off', async () => {
    const { path } = await backup(SMALL)
    const packed = await readFile(path)
    for (let length = 0; length < packed.length; length += everyByte)
      expect([length, (await restore(packed.subarray(0, length))).error === undefined]).toEqual([length, false])
    const plain = Buffer.from(await plainOf(path))
    for (let length = 0; length < plain.length; length += everyByte)
      expect([length, (await restore(plain.subarray(0, length))).error === undefined]).toEqual([length, false])
  })

  const edited = async (edit: (lines: string[]) => readonly string[]): Promise<string | undefined> => {
    const lines = (await plainOf((await backup(EVERYTHING)).path)).trimEnd().split('\n')
    return (await restore(gzipSync(`${edit(lines).join('\n')}\n`))).error?.message.replace(/^.*?clog\.gz:? /u, '')
  }

  it.each<[string, (lines: string[]) => readonly string[], RegExp]>([
    [
      'an event is missing',
      (lines) => lines.filter((_line, at) => at !== 2),
      /^line 15 records events 12, but the file has 11/u,
    ],
    [
      'an event is doubled',
      (lines) => lines.flatMap((line, at) => (at === 3 ? [line, line] : [line])),
      /^line 17 records events 12, but the file has 13/u,
    ],
    [
      'two events changed places',
      (lines) => lines.map((line, at) => (at === 2 ? (lines[3] ?? '') : at === 3 ? (lines[2] ?? '') : line)),
      /^line 16 records sha256/u,
    ],
    [
      'a body is missing',
      (lines) => lines.filter((line) => !line.startsWith('{"body":')),
      /^line 6 names the body [\da-f]{64}, which is missing before it/u,
    ],
    [
      'a body has no event',
      (lines) => lines.filter((_line, at) => at !== 6),
      /^line 7 does not name the body before it/u,
    ],
    [
      'a body was changed',
      (lines) => lines.map((line) => (line.startsWith('{"body":') ? line.replace('berth', 'bertH') : line)),
      /^line 6 was changed: the hash of the body differs/u,
    ],
    ['the end is missing', (lines) => lines.slice(0, -1), /^is cut off after line 15/u],
    [
      'the end has a wrong count',
      (lines) => lines.map((line) => line.replace('"bodies":2', '"bodies":3')),
      /^line 16 records bodies 3, but the file has 2/u,
    ],
    ['a line follows the end', (lines) => [...lines, lines[1] ?? ''], /^line 17 follows the end/u],
    [
      'a line is empty',
      (lines) => lines.flatMap((line, at) => (at === 4 ? ['', line] : [line])),
      /^line 5 is not a line of a log/u,
    ],
    ['the header is missing', (lines) => lines.slice(1), /^is not a log file/u],
  ])('is reported with its line: %s', async (_case, edit, sentence) => {
    expect(await edited(edit)).toMatch(sentence)
  })

  it.each([
    ['empty', Buffer.alloc(0), /is empty/u],
    ['other JSON', Buffer.from('{"role":"user","content":"hello"}\n'), /is not a log file/u],
    ['other bytes without lines', Buffer.alloc(300_000, 'x'), /is not a log file/u],
    ['other compressed bytes', gzipSync('hello'), /is not a log file/u],
  ])('is not a log file: %s', async (_case, bytes, sentence) => {
    expect((await restore(bytes)).error).toMatchObject({ kind: 'NoLogFile', message: expect.stringMatching(sentence) })
  })

  it('is missing', async () => {
    await expect(openLogFile(join(folder, 'nowhere.gz')).head()).rejects.toMatchObject({
      kind: 'FileUnusable',
      message: expect.stringContaining('does not exist'),
    })
  })
})

describe('writing', () => {
  const inFolder = async (): Promise<{ path: string; names: () => Promise<readonly string[]> }> => {
    const parent = await mkdtemp(join(folder, 'writing-'))
    return { path: join(parent, 'x.clog.gz'), names: () => readdir(parent) }
  }

  it('renames the draft only after the file is complete and verified', async () => {
    const { path, names } = await inFolder()
    const target = await createLogFile(path)
    const namesBefore: (readonly string[])[] = []
    const watched: LogTarget = {
      ...target,
      publish: async () => {
        namesBefore.push(await names())
        await target.publish()
      },
    }
    const log = emptyLog('A')
    await write(log, SMALL)
    await copyLog(log.source, watched)
    expect(namesBefore).toEqual([[expect.stringMatching(/^x\.clog\.gz\.[\da-f]{8}\.part$/u)]])
    expect(await names()).toEqual(['x.clog.gz'])
  })

  it('leaves no file if the copy fails', async () => {
    const { path, names } = await inFolder()
    const log = emptyLog('A')
    await write(log, SMALL)
    const source = {
      ...log.source,
      async *entries(upTo: number) {
        let remaining = 2
        for await (const entry of log.source.entries(upTo)) {
          if (remaining-- <= 0) throw new Error('the source is gone')
          yield entry
        }
      },
    }
    await expect(copyLog(source, await createLogFile(path))).rejects.toThrow('the source is gone')
    expect(await names()).toEqual([])
  })

  it('leaves no file if the written entries differ from the source', async () => {
    const { path, names } = await inFolder()
    const log = emptyLog('A')
    await write(log, SMALL)
    const target = await createLogFile(path)
    const { difference } = await copyLog(log.source, { ...target, write: (entries) => target.write(entries.slice(1)) })
    expect(difference).toBe(`${path} has conversation-a revision 1, but A has conversation-a revision 0`)
    expect(await names()).toEqual([])
  })

  it('rejects an existing file unless overwrite is set; then the old file stays until the new one is complete', async () => {
    const { path, names } = await inFolder()
    await backup(SMALL, path)
    const before = await readFile(path)
    await expect(createLogFile(path)).rejects.toMatchObject({
      kind: 'FileExists',
      message: expect.stringContaining('--overwrite'),
    })
    const target = await createLogFile(path, { overwrite: true })
    expect(await readFile(path)).toEqual(before)
    const log = emptyLog('A')
    await write(log, EVERYTHING)
    await copyLog(log.source, target)
    expect(await collect(openLogFile(path).entries(100))).toHaveLength(12)
    expect(await names()).toEqual(['x.clog.gz'])
  })

  it('rejects a file that was created while it wrote', async () => {
    const { path, names } = await inFolder()
    const log = emptyLog('A')
    const target = await createLogFile(path)
    await writeFile(path, 'mine')
    await expect(copyLog(log.source, target)).rejects.toMatchObject({ kind: 'FileExists' })
    expect(await names()).toEqual(['x.clog.gz'])
    expect(await readFile(path, 'utf8')).toBe('mine')
  })

  it('reports the problem with the path', async () => {
    await expect(createLogFile(join(folder, 'nowhere', 'x.gz'))).rejects.toMatchObject({
      kind: 'FileUnusable',
      message: expect.stringContaining('its folder does not exist'),
    })
    const directory = join(folder, 'directory')
    await mkdir(directory)
    await expect(createLogFile(directory, { overwrite: true })).rejects.toMatchObject({
      kind: 'FileUnusable',
      message: expect.stringContaining('is not a file'),
    })
  })
})
