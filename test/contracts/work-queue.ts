/**
 * The contract of the work queue, tested for every adapter. `pass` advances the time: in a database by changing the
 * recorded times, never by sleeping. All times are so long that the speed of the machine does not matter.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { TakeOptions, Work, WorkQueue } from '../../src/ports/work-queue.js'

export interface OpenedQueue {
  readonly queue: WorkQueue
  pass(ms: number): Promise<void>
  /** Removes all rows and the checkpoint. */
  empty(): Promise<void>
  close(): Promise<void>
}

const TAKE: TakeOptions = { leaseMs: 100_000, except: [], tokensPerDay: undefined }

export function describeWorkQueue(name: string, open: () => Promise<OpenedQueue>): void {
  describe(`work queue: ${name}`, () => {
    let opened: OpenedQueue
    let queue: WorkQueue
    beforeAll(async () => {
      opened = await open()
      queue = opened.queue
    })
    beforeEach(() => opened.empty())
    afterAll(() => opened.close())

    const take = async (options: Partial<TakeOptions> = {}): Promise<Work> => {
      const work = await queue.take({ ...TAKE, ...options })
      if (work === undefined) throw new Error('there was nothing to take')
      return work
    }

    test('returns the conversation that has waited longest first, each to one worker', async () => {
      await queue.note(['a'])
      await queue.note(['b', 'a'])
      const [first, second] = [await take(), await take()]
      expect([first.conversationId, second.conversationId]).toEqual(['a', 'b'])
      expect(first).toMatchObject({ failures: 0, resting: false })
      expect(await queue.take(TAKE)).toBeUndefined()
      expect(await queue.status()).toEqual({ waiting: 0, running: 2, resting: 0 })
    })

    test('returns the backlog after all others, those noted last first; a new event ends that', async () => {
      await queue.noteBacklog(['old'])
      await queue.noteBacklog(['newer', 'busy'])
      await queue.noteBacklog(['newest'])
      await queue.note(['a', 'busy'])
      await queue.noteBacklog(['a'])
      const order = [await take(), await take(), await take(), await take(), await take()]
      expect(
        order
          .map(({ conversationId }) => conversationId)
          .slice(0, 2)
          .toSorted(),
      ).toEqual(['a', 'busy'])
      expect(order.map(({ conversationId }) => conversationId).slice(2)).toEqual(['newest', 'newer', 'old'])
      expect(await queue.take(TAKE)).toBeUndefined()
      for (const work of order) await queue.finish(work)
      expect(await queue.status()).toEqual({ waiting: 0, running: 0, resting: 0 })
    })

    test('a finished conversation leaves the queue, unless it was noted again while it was leased', async () => {
      await queue.note(['a', 'b'])
      const [a, b] = [await take(), await take()]
      await queue.note(['b'])
      await queue.finish(a)
      await queue.finish(b)
      expect(await queue.status()).toEqual({ waiting: 1, running: 0, resting: 0 })
      expect((await take()).conversationId).toBe('b')
    })

    test('an expired lease goes to the next worker, and its first holder can change nothing', async () => {
      await queue.note(['a'])
      const lost = await take()
      await opened.pass(90_000)
      expect(await queue.take(TAKE)).toBeUndefined()
      await opened.pass(20_000)
      const found = await take({ leaseMs: 6_000_000 })
      expect(found.conversationId).toBe('a')
      expect(await queue.extend(lost, 6_000_000)).toBe(false)
      await queue.finish(lost)
      await queue.backOff(lost, { ms: 0, failures: 9 })
      await queue.release(lost)
      expect(await queue.take(TAKE)).toBeUndefined()
      expect(await queue.extend(found, 6_000_000)).toBe(true)
    })

    test('extending renews the whole lease, and a worker never gets a conversation that it has in hand', async () => {
      await queue.note(['a'])
      const work = await take()
      await opened.pass(80_000)
      expect(await queue.extend(work, 100_000)).toBe(true)
      await opened.pass(80_000)
      expect(await queue.take(TAKE)).toBeUndefined()
      await opened.pass(40_000)
      expect(await queue.take({ ...TAKE, except: ['a', 'b'] })).toBeUndefined()
      expect((await take()).conversationId).toBe('a')
    })

    test('a resting conversation becomes ready after its rest, with its failures', async () => {
      await queue.note(['a'])
      await queue.backOff(await take(), { ms: 500_000, failures: 2 })
      expect(await queue.take(TAKE)).toBeUndefined()
      expect(await queue.status()).toEqual({ waiting: 0, running: 0, resting: 1 })
      await opened.pass(510_000)
      expect(await take()).toMatchObject({ conversationId: 'a', failures: 2, resting: false })
    })

    test('a resting conversation is taken once after each note, after the ready ones, and continues to rest', async () => {
      await queue.note(['a'])
      await queue.backOff(await take(), { ms: 500_000, failures: 1 })
      await queue.note(['a'])
      await queue.note(['b'])
      expect((await take({ leaseMs: 6_000_000 })).conversationId).toBe('b')
      const resting = await take()
      expect(resting).toMatchObject({ conversationId: 'a', failures: 1, resting: true })
      await queue.release(resting)
      expect(await queue.take(TAKE)).toBeUndefined()
      await opened.pass(510_000)
      expect(await take()).toMatchObject({ conversationId: 'a', resting: false })
    })

    test('a conversation that rests because of a daily limit is ready for a worker with a higher limit or none', async () => {
      await queue.note(['a'])
      await queue.backOff(await take(), { ms: 86_400_000, failures: 1, tokensPerDay: 1_000 })
      expect(await queue.take({ ...TAKE, tokensPerDay: 1_000 })).toBeUndefined()
      const work = await take({ tokensPerDay: 1_001 })
      expect(work.resting).toBe(false)
      await queue.backOff(work, { ms: 86_400_000, failures: 1, tokensPerDay: 1_001 })
      expect((await take({ tokensPerDay: undefined })).conversationId).toBe('a')
    })

    test('the checkpoint moves and the conversations are noted, or neither', async () => {
      const [one, two] = [
        { position: 7, eventId: 'one' },
        { position: Number.MAX_SAFE_INTEGER, eventId: 'two' },
      ]
      expect(await queue.checkpoint()).toBeUndefined()
      expect(await queue.note(['a'], { from: undefined, to: one })).toBe(true)
      expect(await queue.note(['b'], { from: undefined, to: two })).toBe(false)
      expect(await queue.note(['b'], { from: { ...one, eventId: 'other' }, to: two })).toBe(false)
      expect(await queue.checkpoint()).toEqual(one)
      expect(await queue.note([], { from: one, to: two })).toBe(true)
      expect(await queue.checkpoint()).toEqual(two)
      expect((await take()).conversationId).toBe('a')
      expect(await queue.take(TAKE)).toBeUndefined()
    })

    test('of 16 concurrent moves of the checkpoint one succeeds, and 16 concurrent takes return different conversations', async () => {
      const moved = await Promise.all(
        Array.from({ length: 16 }, (_, at) =>
          queue.note([`by ${String(at)}`], { from: undefined, to: { position: at, eventId: String(at) } }),
        ),
      )
      expect(moved.filter(Boolean)).toHaveLength(1)
      await queue.note(Array.from({ length: 15 }, (_, at) => `c ${String(at)}`))
      const works = await Promise.all(Array.from({ length: 16 }, () => queue.take({ ...TAKE, leaseMs: 6_000_000 })))
      // A take that skips rows which others are taking may find none, but no conversation is taken twice.
      const ids = works.flatMap((work) => (work === undefined ? [] : [work.conversationId]))
      expect(new Set(ids).size).toBe(ids.length)
      for (
        let work = await queue.take({ ...TAKE, leaseMs: 6_000_000 });
        work !== undefined;
        work = await queue.take({ ...TAKE, leaseMs: 6_000_000 })
      )
        ids.push(work.conversationId)
      expect(new Set(ids).size).toBe(16)
      expect(ids).toHaveLength(16)
    })
  })
}
