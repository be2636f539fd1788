/**
 * A log in a file: everything comes back, the same log gives the same file, and what is damaged is refused by its line.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { createLogFile, openLogFile } from '../../src/adapters/file/log-file.js'
import { copyLog } from '../../src/backup/migrate-log.js'
import { LogCopyError, type LogTarget } from '../../src/ports/log-copy.js'
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
const fresh = (): string => join(folder, `log-${String(files++)}.clog.gz`)

async function backup(history: readonly Append[], path = fresh()): Promise<{ path: string; log: TestLog }> {
  const log = emptyLog('A')
  await write(log, history)
  expect((await copyLog(log.source, await createLogFile(path))).difference).toBeUndefined()
  return { path, log }
}

/** What restoring these bytes comes to: the error, or the log that it gives. */
async function restored(bytes: Uint8Array): Promise<{ error?: LogCopyError; log: TestLog }> {
  const path = fresh()
  await writeFile(path, bytes)
  const log = emptyLog('B')
  try {
    await copyLog(openLogFile(path), log.target)
    return { log }
  } catch (error) {
    if (!(error instanceof LogCopyError)) throw error
    // Whatever is wrong with a file, nothing is made of it.
    if ((await log.store.head()) !== -1n) throw new Error('something was made of a damaged file', { cause: error })
    return { error, log }
  }
}

/** Each place of a file is tried at length; a quick run tries every seventh. */
const everyByte = isLong ? 1 : 7
const SMALL: readonly Append[] = [
  { stream: 'conversation-a', texts: ['', 'one 🚢'] },
  { stream: 'prompt-b', texts: ['Summarize'] },
  { stream: 'conversation-a', texts: ['two'] },
]
const plainOf = async (path: string): Promise<string> => gunzipSync(await readFile(path)).toString('utf8')

describe('a log in a file', () => {
  it('comes back as it was, whatever it is', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const { path, log } = await backup(history)
        const back = emptyLog('B')
        expect((await copyLog(openLogFile(path), back.target)).difference).toBeUndefined()
        expect(await eventsOf(back.store)).toEqual(await eventsOf(log.store))
        await rm(path)
      }),
      { numRuns: runsOf(40) },
    )
  })

  it('is the same file for the same log', async () => {
    const [one, two] = [await backup(EVERYTHING), await backup(EVERYTHING)]
    expect(await readFile(one.path)).toEqual(await readFile(two.path))
  })

  it('is recognized by its content: unpacked, or under any name', async () => {
    const { path, log } = await backup(EVERYTHING)
    const { error, log: back } = await restored(gunzipSync(await readFile(path)))
    expect(error).toBeUndefined()
    expect(await eventsOf(back.store)).toEqual(await eventsOf(log.store))
  })

  it('is packed in one piece or in many, for all that it matters', async () => {
    const { path, log } = await backup(EVERYTHING)
    const { error, log: back } = await restored(gzipSync(await plainOf(path)))
    expect(error).toBeUndefined()
    expect(await eventsOf(back.store)).toEqual(await eventsOf(log.store))
  })

  it('can be copied into another file', async () => {
    const { path } = await backup(EVERYTHING)
    const second = fresh()
    await copyLog(openLogFile(path), await createLogFile(second))
    expect(await readFile(second)).toEqual(await readFile(path))
  })

  it('holds each body once, before the first event that names it', async () => {
    const { path } = await backup(EVERYTHING)
    const lines = (await plainOf(path)).trimEnd().split('\n')
    expect(lines).toHaveLength(1 + 12 + 2 + 1)
    expect(lines.filter((line) => line.startsWith('{"body":'))).toHaveLength(2)
    for (const line of lines)
      expect(() => {
        JSON.parse(line)
      }).not.toThrow()
  })

  it('is for its owner alone', async () => {
    expect((await stat((await backup(SMALL)).path)).mode & 0o077).toBe(0)
  })
})

describe('a stored file', () => {
  it('of version 1 reads for ever', async () => {
    const expected: unknown = JSON.parse(await readFile('test/fixtures/log-files/v1.json', 'utf8'))
    const log = emptyLog('B')
    const { totals } = await copyLog(openLogFile('test/fixtures/log-files/v1.clog.gz'), log.target)
    const events = (await eventsOf(log.store)).map((event) => ({ ...event, revision: event.revision.toString() }))
    expect({ totals, events }).toEqual(expected)
    expect(await log.bodies.get(sha256OfBody(events))).toContain(LARGE.slice(0, 1_000))
  })

  it('of a later version is refused', async () => {
    const plain = (await plainOf((await backup(SMALL)).path)).replace('"version":1', '"version":2')
    expect((await restored(Buffer.from(plain))).error).toMatchObject({
      kind: 'NoLogFile',
      message: expect.stringContaining('later version'),
    })
  })
})

const sha256OfBody = (events: readonly { readonly data: string }[]): string =>
  events.flatMap(({ data }) => /^\{"claimCheck":\{"sha256":"([\da-f]{64})"/u.exec(data)?.[1] ?? [])[0] ?? ''

describe('a damaged file', () => {
  it('is refused, wherever one byte of it differs', async () => {
    const { path } = await backup(SMALL)
    const plain = Buffer.from(await plainOf(path))
    for (let at = 0; at < plain.length; at += everyByte) {
      const bytes = Buffer.from(plain)
      bytes[at] = (bytes[at] ?? 0) ^ 0x01
      const { error } = await restored(bytes)
      const line = plain.subarray(0, at).filter((byte) => byte === 0x0a).length + 1
      // With a line feed gone or come, the line before or behind is named. Without its header it is no file of ours.
      const sentence =
        line === 1
          ? /is no file with a log|later version|line [12]\b/u
          : new RegExp(`line (?:${String(line)}|${String(line - 1)}|${String(line + 1)})\\b`, 'u')
      expect([at, error?.message]).toEqual([at, expect.stringMatching(sentence)])
    }
  })

  it('is refused or gives the same log, wherever one bit of the packed file differs', async () => {
    const { path, log } = await backup(SMALL)
    const expected = await eventsOf(log.store)
    const packed = await readFile(path)
    let refused = 0
    let tried = 0
    for (let at = 0; at < packed.length; at += everyByte) {
      const bytes = Buffer.from(packed)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8))
      const { error, log: back } = await restored(bytes)
      expect(await eventsOf(back.store)).toEqual(error === undefined ? expected : [])
      if (error !== undefined) refused += 1
      tried += 1
    }
    // What may differ is the time, the system and the flags in the head of a piece, which say nothing of its content.
    expect(refused).toBeGreaterThan(tried - 40)
  })

  it('is refused wherever it is cut off', async () => {
    const { path } = await backup(SMALL)
    const packed = await readFile(path)
    for (let length = 0; length < packed.length; length += everyByte)
      expect([length, (await restored(packed.subarray(0, length))).error === undefined]).toEqual([length, false])
    const plain = Buffer.from(await plainOf(path))
    for (let length = 0; length < plain.length; length += everyByte)
      expect([length, (await restored(plain.subarray(0, length))).error === undefined]).toEqual([length, false])
  })

  const edited = async (edit: (lines: string[]) => readonly string[]): Promise<string | undefined> => {
    const lines = (await plainOf((await backup(EVERYTHING)).path)).trimEnd().split('\n')
    return (await restored(gzipSync(`${edit(lines).join('\n')}\n`))).error?.message.replace(/^.*?clog\.gz:? /u, '')
  }

  it.each<[string, (lines: string[]) => readonly string[], RegExp]>([
    [
      'an event is missing',
      (lines) => lines.filter((_line, at) => at !== 2),
      /^line 15 says events 12, and the file has 11/u,
    ],
    [
      'an event is doubled',
      (lines) => lines.flatMap((line, at) => (at === 3 ? [line, line] : [line])),
      /^line 17 says events 12, and the file has 13/u,
    ],
    [
      'two events changed places',
      (lines) => lines.map((line, at) => (at === 2 ? (lines[3] ?? '') : at === 3 ? (lines[2] ?? '') : line)),
      /^line 16 says sha256/u,
    ],
    [
      'a body is missing',
      (lines) => lines.filter((line) => !line.startsWith('{"body":')),
      /^line 6 names the body [\da-f]{64}, which does not stand before it/u,
    ],
    [
      'a body stands alone',
      (lines) => lines.filter((_line, at) => at !== 6),
      /^line 7 does not name the body that stands before it/u,
    ],
    [
      'a body is another',
      (lines) => lines.map((line) => (line.startsWith('{"body":') ? line.replace('berth', 'bertH') : line)),
      /^line 6 is not what was written: the hash of the body differs/u,
    ],
    ['the end is missing', (lines) => lines.slice(0, -1), /^is cut off behind line 15/u],
    [
      'the end counts wrong',
      (lines) => lines.map((line) => line.replace('"bodies":2', '"bodies":3')),
      /^line 16 says bodies 3, and the file has 2/u,
    ],
    ['something stands behind the end', (lines) => [...lines, lines[1] ?? ''], /^line 17 stands behind the end/u],
    [
      'a line is empty',
      (lines) => lines.flatMap((line, at) => (at === 4 ? ['', line] : [line])),
      /^line 5 is no line of a log/u,
    ],
    ['the header is missing', (lines) => lines.slice(1), /^is no file with a log/u],
  ])('says which line it is: %s', async (_what, edit, sentence) => {
    expect(await edited(edit)).toMatch(sentence)
  })

  it.each([
    ['empty', Buffer.alloc(0), /is empty/u],
    ['something else', Buffer.from('{"role":"user","content":"hello"}\n'), /is no file with a log/u],
    ['something else without lines', Buffer.alloc(300_000, 'x'), /is no file with a log/u],
    ['something else that is packed', gzipSync('hello'), /is no file with a log/u],
  ])('is none of ours: %s', async (_what, bytes, sentence) => {
    expect((await restored(bytes)).error).toMatchObject({ kind: 'NoLogFile', message: expect.stringMatching(sentence) })
  })

  it('is not there at all', async () => {
    await expect(openLogFile(join(folder, 'nowhere.gz')).head()).rejects.toMatchObject({
      kind: 'FileUnusable',
      message: expect.stringContaining('there is no file'),
    })
  })
})

describe('writing', () => {
  const inFolder = async (): Promise<{ path: string; names: () => Promise<readonly string[]> }> => {
    const own = await mkdtemp(join(folder, 'own-'))
    return { path: join(own, 'x.clog.gz'), names: () => readdir(own) }
  }

  it('takes the name when the file is whole and proved, and not before', async () => {
    const { path, names } = await inFolder()
    const target = await createLogFile(path)
    const seen: (readonly string[])[] = []
    const watched: LogTarget = {
      ...target,
      publish: async () => {
        seen.push(await names())
        await target.publish()
      },
    }
    const log = emptyLog('A')
    await write(log, SMALL)
    await copyLog(log.source, watched)
    expect(seen).toEqual([[expect.stringMatching(/^x\.clog\.gz\.[\da-f]{8}\.part$/u)]])
    expect(await names()).toEqual(['x.clog.gz'])
  })

  it('leaves nothing where the copy fails', async () => {
    const { path, names } = await inFolder()
    const log = emptyLog('A')
    await write(log, SMALL)
    const source = {
      ...log.source,
      async *entries(upTo: bigint) {
        let left = 2
        for await (const entry of log.source.entries(upTo)) {
          if (left-- <= 0) throw new Error('the source is gone')
          yield entry
        }
      },
    }
    await expect(copyLog(source, await createLogFile(path))).rejects.toThrow('the source is gone')
    expect(await names()).toEqual([])
  })

  it('leaves nothing where what was written does not read back equal', async () => {
    const { path, names } = await inFolder()
    const log = emptyLog('A')
    await write(log, SMALL)
    const target = await createLogFile(path)
    const { difference } = await copyLog(log.source, { ...target, write: (entries) => target.write(entries.slice(1)) })
    expect(difference).toBe(`${path} has conversation-a revision 1 where A has conversation-a revision 0`)
    expect(await names()).toEqual([])
  })

  it('refuses a file that is there, unless it may overwrite it; then the old one stays until the new one is whole', async () => {
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
    expect(await collect(openLogFile(path).entries(100n))).toHaveLength(12)
    expect(await names()).toEqual(['x.clog.gz'])
  })

  it('refuses a file that came while it wrote', async () => {
    const { path, names } = await inFolder()
    const log = emptyLog('A')
    const target = await createLogFile(path)
    await writeFile(path, 'mine')
    await expect(copyLog(log.source, target)).rejects.toMatchObject({ kind: 'FileExists' })
    expect(await names()).toEqual(['x.clog.gz'])
    expect(await readFile(path, 'utf8')).toBe('mine')
  })

  it('says what is wrong with the path', async () => {
    await expect(createLogFile(join(folder, 'nowhere', 'x.gz'))).rejects.toMatchObject({
      kind: 'FileUnusable',
      message: expect.stringContaining('its folder does not exist'),
    })
    const directory = join(folder, 'directory')
    await mkdir(directory)
    await expect(createLogFile(directory, { overwrite: true })).rejects.toMatchObject({
      kind: 'FileUnusable',
      message: expect.stringContaining('is no file'),
    })
  })
})
