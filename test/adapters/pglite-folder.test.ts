/**
 * Guarantees of a folder: it survives `kill -9`, only one process at a time has it open, and errors name the problem.
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { lockFolder } from '../../src/adapters/pglite/folder-lock.js'
import { openFolder } from '../../src/adapters/pglite/sql.js'
import { createPostgresBodyStore } from '../../src/adapters/postgres/body-store.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { startChild, type Child } from '../support/child.js'
import { appended, collect, eventNamed } from '../support/events.js'
import { longTest, repeated } from '../support/length.js'

let home: string
let children: Child[] = []
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'ledger-'))
})
afterEach(async () => {
  for (const child of children) await child.kill()
  children = []
  await rm(home, { recursive: true, force: true })
})

function start(...words: Parameters<typeof startChild>): Child {
  const child = startChild(...words)
  children.push(child)
  return child
}

/** Creates a folder that is still locked by a killed process. */
async function abandoned(folder: string): Promise<string> {
  const holder = start('hold-folder')
  holder.say(folder)
  expect(await holder.said(2)).toEqual(['ready', 'locked'])
  await holder.kill()
  return folder
}

/** Changes fields of a lock's record. */
async function editLock(folder: string, change: Readonly<Record<string, unknown>>, number = 1): Promise<void> {
  const file = join(folder, 'lock', String(number))
  const record: unknown = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify(Object.assign({}, record, change)))
}

/** Fields of a lock from another machine, whose process cannot be checked. */
const FOREIGN = { host: 'another-host', bootId: 'another run', pidNamespace: 'pid:[1]' }
/** An owner beats twenty times in `QUIET_MS`. */
const BEAT_MS = 100
const QUIET_MS = 2_000
const IN_TEST = ['--beat', String(BEAT_MS), '--quiet', String(QUIET_MS)]

const KILLS = repeated(8, 3)

describe('killed while it appends', () => {
  longTest(
    `every acknowledged event is there after each of ${String(KILLS)} kills, and at most one more`,
    async () => {
      const folder = join(home, 'ledger')
      let stored = 0
      for (let round = 0; round < KILLS; round++) {
        const child = start('append-until-killed', [folder, String(stored)])
        // The signal arrives at a random point of a random append.
        const enough = 1 + Math.floor(Math.random() * 400)
        await child.said(enough)
        await child.kill()
        const acknowledged = stored + child.lines.length
        const db = await openFolder(folder)
        const store = createPostgresEventStore(db)
        const events = await collect(store.readAll())
        const label = `round ${String(round)}, killed after ${String(enough)}`
        expect([label, events.length >= acknowledged, events.length <= acknowledged + 1]).toEqual([label, true, true])
        expect(events.map((event) => event.id)).toEqual(events.map((_, number) => eventNamed(String(number)).id))
        expect(events.map((event) => event.position)).toEqual(events.map((_, number) => number))
        expect(await store.head()).toBe(events.length - 1)
        expect(await store.streamRevision('conversation-a')).toBe(events.length - 1)
        // A reopened store accepts the next append.
        await appended(store, 'conversation-a', [eventNamed(String(events.length))], events.length - 1)
        stored = events.length + 1
        await db.close()
      }
      expect(stored).toBeGreaterThan(KILLS)
    },
    180_000,
  )

  longTest('a folder whose creation was killed still opens', async () => {
    const folder = join(home, 'ledger')
    const child = start('append-until-killed', [folder])
    const data = join(folder, 'pgdata')
    // The engine has only begun to write its cluster.
    for (;;) {
      const names = await readdir(data).catch(() => [])
      if (names.length > 3) break
      await new Promise<void>((resolve) => {
        setTimeout(resolve, 20)
      })
    }
    await child.kill()
    expect(child.lines).toEqual([])
    const db = await openFolder(folder)
    await migrateLog(db)
    expect(await createPostgresEventStore(db).head()).toBe(-1)
    await db.close()
  })
})

describe('one process at a time', () => {
  test('a second process gets an error that names the owner, and the folder as soon as the owner is killed', async () => {
    const folder = join(home, 'ledger')
    const child = start('append-until-killed', [folder])
    await child.said(1)
    await expect(openFolder(folder)).rejects.toMatchObject({
      kind: 'FolderLocked',
      message: expect.stringMatching(
        new RegExp(`process ${String(child.pid)} on ${hostname()} \\(append-until-killed.*running since 20\\d\\d-`),
      ),
    })
    await child.kill()
    const db = await openFolder(folder)
    expect(await createPostgresEventStore(db).head()).toBeGreaterThan(-1)
    await db.close()
  })

  test('the same process cannot open it twice, but can open it again after closing', async () => {
    const folder = join(home, 'ledger')
    const lock = await lockFolder(folder)
    await expect(lockFolder(folder)).rejects.toMatchObject({
      kind: 'FolderLocked',
      message: expect.stringContaining('this same process'),
    })
    await lock.release()
    await lock.release()
    const next = await lockFolder(folder)
    await lock.release()
    await expect(lockFolder(folder)).rejects.toMatchObject({ kind: 'FolderLocked' })
    await next.release()
    for (let round = 0; round < 20; round++) await (await lockFolder(folder)).release()
    expect((await readdir(join(folder, 'lock'))).length).toBeLessThan(12)
  })

  longTest('of many processes that race for an abandoned lock exactly one wins, round after round', async () => {
    const racers = Array.from({ length: 5 }, () => start('hold-folder'))
    await Promise.all(racers.map((racer) => racer.said(1)))
    for (let round = 0; round < 12; round++) {
      const folder = join(home, `round ${String(round)}`)
      await (await lockFolder(folder)).release()
      // In two of three rounds the owner was killed; in the third it released the lock.
      if (round % 3 !== 0) {
        await rm(join(folder, 'lock', '1.free'))
        await editLock(folder, { pid: 4_194_304 + round })
      }
      for (const racer of racers) racer.say(folder)
      await Promise.all(racers.map((racer) => racer.said(round + 2)))
      const answers = racers.map((racer) => racer.lines[round + 1] ?? '')
      expect(answers.filter((answer) => answer === 'locked')).toHaveLength(1)
      expect(answers.filter((answer) => answer.includes('is open in process'))).toHaveLength(4)
      expect((await readdir(join(folder, 'lock'))).filter((name) => !name.startsWith('1'))).toEqual(['2'])
    }
  })

  test('of 30 attempts within one process exactly one wins', async () => {
    const folder = await abandoned(join(home, 'ledger'))
    const attempts = await Promise.allSettled(Array.from({ length: 30 }, () => lockFolder(folder)))
    expect(attempts.filter((attempt) => attempt.status === 'fulfilled')).toHaveLength(1)
  })

  test('a reused pid does not hold the folder', async () => {
    const folder = await abandoned(join(home, 'ledger'))
    await editLock(folder, { pid: process.pid, startTicks: '1' })
    const lock = await lockFolder(folder)
    expect(await readdir(join(folder, 'lock'))).toEqual(['1', '2'])
    await lock.release()
  })

  test('a lock of a running process is never taken, however old it is', async () => {
    const folder = join(home, 'ledger')
    const lock = await lockFolder(folder)
    await editLock(folder, { startedAt: '1999-01-01T00:00:00.000Z' })
    await expect(lockFolder(folder)).rejects.toMatchObject({ kind: 'FolderLocked' })
    await lock.release()
  })

  longTest(
    'of many processes that race for a lock of another machine exactly one wins, round after round',
    async () => {
      const racers = Array.from({ length: 4 }, () => start('hold-folder', ['--quiet', '300']))
      await Promise.all(racers.map((racer) => racer.said(1)))
      for (let round = 0; round < 10; round++) {
        const folder = join(home, `round ${String(round)}`)
        await (await lockFolder(folder)).release()
        await rm(join(folder, 'lock', '1.free'))
        await editLock(folder, FOREIGN)
        for (const racer of racers) racer.say(folder)
        await Promise.all(racers.map((racer) => racer.said(round + 2)))
        const answers = racers.map((racer) => racer.lines[round + 1] ?? '')
        expect(answers.filter((answer) => answer === 'locked')).toHaveLength(1)
        expect(answers.filter((answer) => answer.includes('is open in process'))).toHaveLength(3)
        expect((await readdir(join(folder, 'lock'))).filter((name) => !name.startsWith('1'))).toEqual(['2'])
      }
    },
    60_000,
  )
})

describe('an owner whose process cannot be checked', () => {
  test.each([
    ['under another host name, in another container', { host: 'another-host', pidNamespace: 'pid:[1]' }],
    ['before a reboot', { bootId: 'another run' }],
    ['on another machine', FOREIGN],
  ])('is replaced if it is unresponsive, and the waiting process reports why it waits: %s', async (_owner, change) => {
    const folder = await abandoned(join(home, 'ledger'))
    await editLock(folder, change)
    const reports: string[] = []
    const lock = await lockFolder(folder, { takeoverMs: 300, onWait: (sentence) => reports.push(sentence) })
    expect(reports).toEqual([
      expect.stringMatching(
        /was last opened by process \d+ on .*hold-folder.*which this process cannot check: waiting up to 1 s to see whether it still has the folder open/,
      ),
    ])
    expect([lock.number, lock.mayOwnerReturn]).toEqual([2, true])
    await lock.release()
  })

  test('can be checked if only the host name of the machine changed: a dead owner is replaced at once', async () => {
    const folder = await abandoned(join(home, 'ledger'))
    await editLock(folder, { host: 'the name of yesterday' })
    const lock = await lockFolder(folder, { takeoverMs: 3_600_000 })
    expect(lock.mayOwnerReturn).toBe(false)
    await lock.release()
  })

  longTest('keeps its folder while its heartbeat continues, and the error names it', async () => {
    const folder = join(home, 'ledger')
    const holder = start('hold-folder', IN_TEST)
    holder.say(folder)
    expect(await holder.said(2)).toEqual(['ready', 'locked'])
    await editLock(folder, FOREIGN)
    await expect(lockFolder(folder, { takeoverMs: 3_600_000 })).rejects.toMatchObject({
      kind: 'FolderLocked',
      message: expect.stringMatching(/is open in process \d+ on another-host/),
    })
  })

  longTest(
    'is replaced as soon as it releases the folder',
    async () => {
      const folder = join(home, 'ledger')
      const lock = await lockFolder(folder, { beatMs: 3_600_000 })
      await editLock(folder, FOREIGN)
      const next = await lockFolder(folder, { takeoverMs: 3_600_000, onWait: () => void lock.release() })
      expect([next.number, next.mayOwnerReturn]).toEqual([2, false])
      await next.release()
    },
    200_000,
  )

  test('a lock with an unreadable record is taken if its owner is unresponsive', async () => {
    await mkdir(join(home, 'lock'))
    await writeFile(join(home, 'lock', '3'), '')
    const lock = await lockFolder(home, { takeoverMs: 300 })
    expect([lock.number, lock.mayOwnerReturn]).toEqual([4, true])
    await lock.release()
  })

  longTest(
    'suspended during its appends, replaced, and resumed, it acknowledges nothing more and changes nothing of its successor',
    async () => {
      const folder = join(home, 'ledger')
      let stored = 0
      for (let round = 0; round < repeated(3, 1); round++) {
        const old = start('append-until-killed', [folder, String(stored), ...IN_TEST])
        await old.said(1 + Math.floor(Math.random() * 50))
        const newest = Math.max(
          ...(await readdir(join(folder, 'lock'))).filter((name) => /^\d+$/.test(name)).map(Number),
        )
        process.kill(old.pid, 'SIGSTOP')
        await editLock(folder, FOREIGN, newest)
        const db = await openFolder(folder, { beatMs: BEAT_MS, takeoverMs: QUIET_MS })
        const store = createPostgresEventStore(db)
        const found = (await collect(store.readAll())).length
        process.kill(old.pid, 'SIGCONT')
        await old.ended()
        const acknowledged = stored + old.lines.filter((line) => /^\d+$/.test(line)).length
        expect(old.lines.at(-1)).toMatch(/^refused: another process took over .*ledger while this one was unresponsive/)
        expect([found >= acknowledged, found <= acknowledged + 1]).toEqual([true, true])
        await appended(store, 'conversation-a', [eventNamed(String(found))], found - 1)
        stored = found + 1
        expect((await collect(store.readAll())).map((event) => event.id)).toEqual(
          Array.from({ length: stored }, (_, number) => eventNamed(String(number)).id),
        )
        await db.close()
        expect((await readdir(folder)).filter((name) => name.startsWith('pgdata'))).toEqual([
          `pgdata-${String(newest + 1)}`,
        ])
      }
    },
    120_000,
  )

  longTest('if its successor is killed before it has copied the data, the next process copies it', async () => {
    const folder = join(home, 'ledger')
    const first = start('append-until-killed', [folder, '0', ...IN_TEST])
    await first.said(1)
    await first.kill()
    await editLock(folder, FOREIGN)
    const second = start('hold-folder', ['--quiet', '300'])
    second.say(folder)
    expect(await second.said(2)).toEqual(['ready', 'locked'])
    await second.kill()
    const db = await openFolder(folder, { takeoverMs: 3_600_000 })
    expect((await createPostgresEventStore(db).head()) + 1).toBeGreaterThanOrEqual(first.lines.length)
    expect((await readdir(folder)).filter((name) => name.startsWith('pgdata'))).toEqual(['pgdata-3'])
    expect((await readdir(join(folder, 'lock'))).filter((name) => name.includes('doubt'))).toEqual([])
    await db.close()
  })
})

describe('what is wrong with a folder', () => {
  test('a file in its place', async () => {
    const file = join(home, 'file')
    await writeFile(file, 'mine')
    for (const path of [file, join(file, 'below')])
      await expect(openFolder(path)).rejects.toMatchObject({
        kind: 'FolderUnusable',
        message: expect.stringContaining('is not a folder'),
      })
    expect(await readFile(file, 'utf8')).toBe('mine')
  })

  test.each([
    ['notes.txt', 'mine'],
    ['PG_VERSION', '15\n'],
    ['pgdata', 'without a marker'],
    ['ledger.json', '{"something":"else"}'],
  ])('a folder with other content (%s) is rejected and not changed', async (name, text) => {
    await writeFile(join(home, name), text)
    await expect(openFolder(home)).rejects.toMatchObject({
      kind: 'NotALedger',
      message: expect.stringMatching(/nothing in .* was changed/i),
    })
    expect(await readdir(home)).toEqual([name])
    expect(await readFile(join(home, name), 'utf8')).toBe(text)
  })

  test('a folder of a later version', async () => {
    await writeFile(join(home, 'ledger.json'), '{"ledger":"context-ledger","version":99,"ready":true}')
    await expect(openFolder(home)).rejects.toMatchObject({
      kind: 'NewerSchema',
      message: expect.stringContaining('99'),
    })
    expect(await readdir(home)).toEqual(['ledger.json'])
  })

  test('a folder without write permission', async () => {
    await chmod(home, 0o755)
    const inside = join(home, 'inside')
    await mkdir(inside)
    // Root can write to every folder, so the child process runs as another user.
    const holder = start('hold-folder', [], process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {})
    if (process.getuid?.() !== 0) await chmod(inside, 0o555)
    holder.say(inside)
    expect((await holder.said(2))[1]).toMatch(
      /this process has no permission to write to .*inside.*name another folder/,
    )
    if (process.getuid?.() !== 0) await chmod(inside, 0o755)
  })

  longTest(
    'a disk with too little space for a ledger: the error names the cause, no data remains, and with space it opens',
    async () => {
      const disk = join(home, 'disk')
      await mkdir(disk)
      // Only root can mount a small disk; without it this test is skipped.
      if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', disk]).status !== 0) return
      try {
        const folder = join(disk, 'ledger')
        for (let time = 0; time < 2; time++)
          await expect(openFolder(folder)).rejects.toMatchObject({
            kind: 'DiskFull',
            message: expect.stringMatching(/^there is no space left for .*ledger/),
          })
        expect((await readdir(folder)).toSorted()).toEqual(['ledger.json', 'lock'])
        spawnSync('mount', ['-o', 'remount,size=200m', disk])
        const db = await openFolder(folder)
        await migrateLog(db)
        await db.close()
      } finally {
        // The aborted engine keeps files open until this process ends.
        spawnSync('umount', ['-l', disk])
      }
    },
  )

  longTest('a text that is larger than the free space: refused by its size before the engine has it', async () => {
    const disk = join(home, 'disk')
    await mkdir(disk)
    // Only root can mount a small disk; without it this test is skipped.
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=100m', 'tmpfs', disk]).status !== 0) return
    try {
      const db = await openFolder(join(disk, 'ledger'))
      await migrateLog(db)
      const bodies = createPostgresBodyStore(db)
      for (const letter of ['e', 'é']) {
        const text = letter.repeat(24 << 20)
        await expect(bodies.put('0'.repeat(64), text)).rejects.toMatchObject({
          kind: 'DiskFull',
          message: expect.stringMatching(/writing needs \d+ MB/),
        })
      }
      await bodies.put('1'.repeat(64), 'a small text')
      expect(await bodies.get('1'.repeat(64))).toBe('a small text')
      await db.close()
    } finally {
      spawnSync('umount', ['-l', disk])
    }
  })

  // With small events the disk lacks space for the next write-ahead log file, and the engine alone would retry forever.
  longTest.each([
    ['large', 72, 3_000],
    ['small', 62, 200],
  ])(
    'a disk that fills up with %s events: the append returns a failure, acknowledged events stay, and with space it continues',
    async (_what, megabytes, words) => {
      const disk = join(home, 'disk')
      await mkdir(disk)
      const mounted =
        spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${String(megabytes)}m`, 'tmpfs', disk]).status === 0
      // Only root can mount a small disk; without it this test is skipped.
      if (!mounted) return
      try {
        const folder = join(disk, 'ledger')
        let db = await openFolder(folder)
        await migrateLog(db)
        let store = createPostgresEventStore(db)
        const acknowledged: string[] = []
        let refusal: unknown
        for (let number = 0; refusal === undefined && number < 10_000; number++) {
          const event = eventNamed(
            String(number),
            Array.from({ length: words }, () => Math.random().toString(36)).join(''),
          )
          const result = await store.append('a', 'any', [event])()
          if (result._tag === 'Right') acknowledged.push(event.id)
          else refusal = result.left
        }
        expect(refusal).toMatchObject({ kind: 'StoreUnavailable', detail: expect.stringContaining('no space left') })
        await db.close().catch(() => undefined)
        spawnSync('mount', ['-o', 'remount,size=200m', disk])
        db = await openFolder(folder)
        store = createPostgresEventStore(db)
        const stored = (await collect(store.readStream('a'))).map((event) => event.id)
        expect(stored.slice(0, acknowledged.length)).toEqual(acknowledged)
        await appended(store, 'a', [eventNamed('with space again')])
        await db.close()
      } finally {
        spawnSync('umount', [disk])
      }
    },
  )
})
