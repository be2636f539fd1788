/**
 * Workers: the distribution of conversations, the death of a worker, limits and failures, and the same code inside one
 * process.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { isSummarizerFailure } from '../../src/ports/summarizer.js'
import { createMemoryClaims } from '../../src/adapters/memory/claims.js'
import { createMemoryTokenBudget } from '../../src/adapters/memory/token-budget.js'
import { createMemoryWorkQueue } from '../../src/adapters/memory/work-queue.js'
import {
  createCompactionWorker,
  type CompactionWorker,
  type CompactionWorkerOptions,
} from '../../src/application/compaction/compaction-worker.js'
import type { CompactionRun } from '../../src/application/compaction/compact.js'
import { triggerOf } from '../../src/domain/compaction/plan.js'
import type { PolicySettings } from '../../src/domain/values/policy-settings.js'
import type { TokenBudget } from '../../src/ports/token-budget.js'
import type { Work, WorkQueue } from '../../src/ports/work-queue.js'
import { SMALL, say, talk } from '../support/conversations.js'
import { coverageProblems } from '../support/coverage.js'
import { createHandClock, until, type HandClock } from '../support/hand-clock.js'
import { createHarness, type Harness } from '../support/harness.js'
import { latch } from '../support/latch.js'

interface World {
  readonly clock: HandClock
  readonly queue: WorkQueue
  readonly harness: Harness
  readonly runs: { readonly conversationId: string; readonly run: CompactionRun }[]
  readonly problems: unknown[]
  /** A worker in a separate process: memory is not shared, leases are. */
  readonly worker: (options?: Partial<CompactionWorkerOptions> & { readonly budget?: TokenBudget }) => CompactionWorker
  /** A worker that follows the log. */
  readonly following: (
    options?: Partial<CompactionWorkerOptions> & { readonly budget?: TokenBudget },
  ) => CompactionWorker
  /** Resolves when no worker is running or waiting, and all appends were processed. */
  readonly quiet: () => Promise<void>
}

const workers: CompactionWorker[] = []
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()))
})

function createWorld(policy: PolicySettings = SMALL): World {
  const clock = createHandClock()
  const queue = createMemoryWorkQueue(clock)
  const claims = createMemoryClaims(clock)
  const harness = createHarness({ policy, claims, clock })
  const runs: World['runs'] = []
  const problems: unknown[] = []
  const world: World = {
    clock,
    queue,
    harness,
    runs,
    problems,
    worker({ budget, ...options } = {}) {
      const process = harness.restart({ claims, ...(budget === undefined ? {} : { budget }) })
      const worker = createCompactionWorker({
        queue,
        load: (id) => process.conversations.load(id),
        compact: process.run,
        clock,
        concurrency: 4,
        backsOffByTime: true,
        pollMs: 2,
        onCompaction: (conversationId, run) => {
          runs.push({ conversationId, run })
        },
        onProblem: (problem) => {
          problems.push(problem)
        },
        ...options,
      })
      workers.push(worker)
      return worker
    },
    following(options = {}) {
      const worker = world.worker({ follow: harness.store, ...options })
      worker.start()
      return worker
    },
    quiet: () =>
      until(async () => {
        const [{ waiting, running }, stands] = [await queue.status(), await queue.checkpoint()]
        let newest = -1
        for await (const event of harness.store.readAll({ prefix: 'conversation-' })) newest = event.position
        return waiting === 0 && running === 0 && (stands?.position ?? -1) === newest
      }),
  }
  return world
}

const ids = (count: number): string[] => Array.from({ length: count }, (_, at) => `c${String(at)}`)

async function bought(harness: Harness, conversationIds: readonly string[]): Promise<number> {
  let count = 0
  for (const id of conversationIds) {
    const chunks = await harness.eventsOf('ChunkSummarized', id)
    count +=
      chunks.filter(({ data }) => data.summarizer.fallback !== true).length +
      (await harness.eventsOf('BatchesResummarized', id)).length
  }
  return count
}

describe('a worker that follows the log', () => {
  it('summarizes full chunks before the limit, so that the cycle at the limit needs no call', async () => {
    const { harness, following, quiet } = createWorld()
    following()
    // The soft limit is 800 tokens; nine tenths of it are reached with the message m17.
    await harness.appended(talk(18), 'c')
    await quiet()
    const ahead = harness.summarizer.calls.length
    expect(ahead).toBe(5)
    expect(await harness.eventsOf('MessagesPruned', 'c')).toEqual([])
    harness.summarizer.answer = () => ({ failure: 'unreachable' })
    await harness.appended(talk(2, 18), 'c')
    await quiet()
    expect((await harness.eventsOf('MessagesPruned', 'c')).map(({ data }) => data.why.trigger)).toEqual(['soft'])
    expect(harness.summarizer.calls).toHaveLength(ahead)
    expect(coverageProblems(await harness.events('c'))).toEqual([])
  })

  it('ignores a conversation far below its limit, and leaves the queue empty', async () => {
    const { harness, following, quiet, queue } = createWorld()
    following()
    await harness.appended(talk(10), 'c')
    await quiet()
    expect(harness.summarizer.calls).toEqual([])
    expect(await queue.status()).toEqual({ waiting: 0, running: 0, resting: 0 })
  })

  it('takes existing conversations, and continues from the checkpoint', async () => {
    const { harness, following, quiet } = createWorld()
    for (const id of ids(5)) await harness.appended(talk(20), id)
    const first = following()
    await quiet()
    for (const id of ids(5)) expect((await harness.conversations.load(id)).cycles).toBe(1)
    await first.stop()
    await harness.appended(talk(25, 20), 'c3')
    const reads = harness.store.reads
    following()
    await quiet()
    expect((await harness.conversations.load('c3')).cycles).toBe(2)
    expect(harness.store.reads - reads).toBeLessThan(200)
  })

  it('compacts a conversation with new events before the log is read to its end, at the first start', async () => {
    const { harness, following, quiet, runs } = createWorld()
    for (const id of ids(12)) await harness.appended(talk(20), id)
    const reading = latch()
    const { store } = harness
    following({
      concurrency: 1,
      follow: {
        ...store,
        async *readPositions(options) {
          await reading.opened
          yield* store.readPositions(options)
        },
        head: () => store.head(),
        subscribe: (options) => store.subscribe(options),
        eventAt: (position) => store.eventAt(position),
      },
    })
    await harness.appended(talk(20), 'new')
    await until(async () => runs.some(({ conversationId }) => conversationId === 'new'))
    expect(runs.map(({ conversationId }) => conversationId)).toEqual(['new'])
    reading.open()
    await quiet()
    for (const id of ids(12)) expect((await harness.conversations.load(id)).cycles).toBe(1)
  })

  it('starts again if the queue was filled from another log, and reports it', async () => {
    const { harness, following, quiet, queue } = createWorld()
    const otherCheckpoint = { position: 1, eventId: 'of another log' }
    await queue.note([], { from: undefined, to: otherCheckpoint })
    await harness.appended(talk(20), 'c')
    const reported: unknown[] = []
    following({
      onOtherLog: (checkpoint) => {
        reported.push(checkpoint)
      },
    })
    await quiet()
    expect(reported).toEqual([otherCheckpoint])
    expect((await harness.conversations.load('c')).cycles).toBe(1)
  })
})

describe('two workers', () => {
  it('share the conversations: nothing is paid for twice, and only one works on a conversation at a time', async () => {
    const { harness, following, quiet } = createWorld()
    const open = new Set<string>()
    let twice = 0
    harness.summarizer.answer = async ({ job }) => {
      if (job.kind === 'resummarize') return undefined
      const of = job.messages[0]?.messageId.split('/')[0] ?? ''
      if (open.has(of)) twice += 1
      open.add(of)
      await new Promise((resolve) => {
        setTimeout(resolve, 1)
      })
      open.delete(of)
      return undefined
    }
    following({ concurrency: 3 })
    following({ concurrency: 3 })
    const all = ids(8)
    for (let number = 0; number < 60; number += 6) {
      for (const id of all)
        await harness.appended(
          talk(6, number).map((message) => ({ ...message, id: `${id}/${String(message.id)}` })),
          id,
        )
    }
    await quiet()
    expect(twice).toBe(0)
    expect(harness.summarizer.calls).toHaveLength(await bought(harness, all))
    for (const id of all) {
      expect(coverageProblems(await harness.events(id))).toEqual([])
      expect((await harness.context(id)).overBudget).toBeUndefined()
    }
  })

  it('a conversation moves to the other worker when one dies, at the cost of the running call', async () => {
    const { harness, following, quiet, clock, queue, worker } = createWorld()
    const dying = latch()
    const reached = latch()
    harness.summarizer.answer = async () => {
      harness.summarizer.answer = () => undefined
      reached.open()
      await dying.opened
      return { failure: 'timeout' }
    }
    const dead = worker({ follow: harness.store, leaseMs: 15_000 })
    dead.start()
    await harness.appended(talk(20), 'c')
    await reached.opened
    // The dead worker reports nothing. The other one finds the conversation locked until the lease and the claim
    // expire.
    const before = harness.summarizer.calls.length
    const takenWork: (Work | undefined)[] = []
    const take: WorkQueue['take'] = async (asked) => {
      const work = await queue.take(asked)
      takenWork.push(work)
      return work
    }
    following({ queue: { ...queue, take } })
    await harness.appended(say(20), 'c')
    const newest = (await harness.events('c')).at(-1)?.position ?? 0
    await until(async () => ((await queue.checkpoint())?.position ?? -1) >= newest)
    const noted = takenWork.length
    await until(() => takenWork.length > noted + 2)
    expect(takenWork.filter((work) => work !== undefined)).toEqual([])
    expect(harness.summarizer.calls).toHaveLength(before)
    clock.pass(15_001)
    await until(async () => (await harness.conversations.load('c')).cycles === 1)
    expect(harness.summarizer.calls).toHaveLength((await bought(harness, ['c'])) + 1)
    dying.open()
    await quiet()
    expect(coverageProblems(await harness.events('c'))).toEqual([])
  })
})

describe('limits', () => {
  it('a full minute is waited for, and is not a failure', async () => {
    const { harness, following, queue, clock, runs } = createWorld()
    // A call of the script reports 15 tokens, and reserves more before.
    const budget = createMemoryTokenBudget({ tokensPerMinute: 40 }, clock)
    following({ budget })
    // So far above the soft limit that one chunk is not enough.
    await harness.appended(talk(24), 'c')
    await until(async () => (await queue.status()).resting === 1)
    const calls = harness.summarizer.calls.length
    expect(runs.at(-1)?.run.postponedMs).toBeGreaterThan(0)
    for (let minute = 0; minute < 8 && (await harness.conversations.load('c')).cycles === 0; minute += 1) {
      clock.pass(60_001)
      await until(
        async () => (await queue.status()).resting === 1 || (await harness.conversations.load('c')).cycles === 1,
      )
    }
    expect(calls).toBeLessThan(harness.summarizer.calls.length)
    expect((await harness.conversations.load('c')).cycles).toBe(1)
    expect(await harness.eventsOf('CompactionFailed', 'c')).toEqual([])
    expect(harness.summarizer.calls).toHaveLength(await bought(harness, ['c']))
  })

  it('a full day is reported once, with its figures, and the conversation waits until the limit resets', async () => {
    const { harness, following, quiet, clock } = createWorld({ ...SMALL, fallback: 'none' })
    const budget = createMemoryTokenBudget({ tokensPerDay: 60 }, clock)
    following({ budget, tokensPerDay: 60 })
    for (let number = 0; number < 30; number += 1) {
      await harness.appended(say(number), 'c')
      await quiet()
    }
    const calls = harness.summarizer.calls.length
    const failures = (await harness.eventsOf('CompactionFailed', 'c')).map(({ data }) => data)
    expect(failures).toMatchObject([
      {
        failure: 'limit-reached',
        detail: expect.stringMatching(/the limit of 60 tokens a day: \d+ are used, and this call needs about \d+/),
        retryAfterMessages: 0,
      },
    ])
    clock.pass(12 * 3_600_000)
    await until(async () => harness.summarizer.calls.length > calls)
  })

  it('a worker with a higher limit need not wait, nor one without a model', async () => {
    const { harness, following, quiet, clock, queue } = createWorld({ ...SMALL, fallback: 'none' })
    const low = following({ budget: createMemoryTokenBudget({ tokensPerDay: 10 }, clock), tokensPerDay: 10 })
    await harness.appended(talk(20), 'c')
    await quiet()
    await low.stop()
    expect(harness.summarizer.calls).toEqual([])
    expect(await queue.status()).toMatchObject({ resting: 1 })
    following({ budget: createMemoryTokenBudget({ tokensPerDay: 1_000_000 }, clock), tokensPerDay: 1_000_000 })
    await until(async () => (await harness.conversations.load('c')).cycles === 1)
    expect(await harness.eventsOf('CompactionFailed', 'c')).toHaveLength(1)
  })

  it('at the hard limit the fallback works although the day is full, without further reports', async () => {
    const { harness, following, quiet, clock } = createWorld()
    following({ budget: createMemoryTokenBudget({ tokensPerDay: 10 }, clock), tokensPerDay: 10 })
    for (let number = 0; number < 60; number += 1) {
      await harness.appended(say(number), 'c')
      await quiet()
      expect((await harness.context('c')).tokens).toBeLessThanOrEqual(1_000)
    }
    expect(harness.summarizer.calls).toEqual([])
    expect(await harness.eventsOf('CompactionFailed', 'c')).toHaveLength(1)
    const chunks = await harness.eventsOf('ChunkSummarized', 'c')
    expect(chunks.length).toBeGreaterThan(0)
    expect(chunks.every(({ data }) => data.summarizer.fallback === true)).toBe(true)
  })

  it('earlier summaries are still used at the soft limit on a full day', async () => {
    const { harness, following, quiet, clock } = createWorld({ ...SMALL, fallback: 'none' })
    following({ budget: createMemoryTokenBudget({ tokensPerDay: 80 }, clock), tokensPerDay: 80 })
    await harness.appended(talk(18), 'c')
    await quiet()
    const summaries = harness.summarizer.calls.length
    expect(summaries).toBeGreaterThan(1)
    expect(await harness.eventsOf('CompactionFailed', 'c')).toHaveLength(1)
    await harness.appended(talk(2, 18), 'c')
    await quiet()
    expect((await harness.eventsOf('MessagesPruned', 'c')).map(({ data }) => data.why.trigger)).toEqual(['soft'])
    expect(await harness.eventsOf('BatchArchived', 'c')).toHaveLength(summaries)
    await harness.appended(talk(10, 20), 'c')
    await quiet()
    expect(harness.summarizer.calls).toHaveLength(summaries)
    expect(await harness.eventsOf('CompactionFailed', 'c')).toHaveLength(1)
  })

  it('a request above the whole limit per minute fails instead of waiting forever', async () => {
    const { harness, following, quiet, clock } = createWorld({ ...SMALL, fallback: 'none' })
    following({ budget: createMemoryTokenBudget({ tokensPerMinute: 5 }, clock) })
    await harness.appended(talk(20), 'c')
    await quiet()
    expect((await harness.eventsOf('CompactionFailed', 'c')).map(({ data }) => data.detail)).toEqual([
      expect.stringMatching(
        /the limit of 5 tokens a minute: 0 are used, and this call needs about \d+, more than any minute has room for$/u,
      ),
    ])
  })
})

describe('failures', () => {
  it('of the budget do not lose a received answer', async () => {
    const { harness, following, clock } = createWorld()
    const inner = createMemoryTokenBudget({}, clock)
    following({
      budget: {
        limits: {},
        reserve: async (tokens) => {
          const reservation = await inner.reserve(tokens)
          return reservation.kind === 'refused'
            ? reservation
            : { ...reservation, settle: () => Promise.reject(new Error('the database is away')) }
        },
      },
    })
    await harness.appended(talk(20), 'c')
    await until(async () => (await harness.conversations.load('c')).cycles === 1)
    expect(await bought(harness, ['c'])).toBe(harness.summarizer.calls.length)
  })

  it('wait by the clock, longer each time, and the queue shares this with every worker', async () => {
    const { harness, following, quiet, clock, queue } = createWorld({ ...SMALL, fallback: 'none' })
    harness.summarizer.answer = () => ({ failure: 'request-rejected' })
    following()
    following()
    await harness.appended(talk(20), 'c')
    await quiet()
    expect(harness.summarizer.calls).toHaveLength(1)
    for (let number = 20; number < 30; number += 1) await harness.appended(say(number), 'c')
    await quiet()
    expect(harness.summarizer.calls).toHaveLength(1)
    expect(await queue.status()).toMatchObject({ resting: 1 })
    clock.pass(2_001)
    await until(() => harness.summarizer.calls.length === 2)
    await quiet()
    clock.pass(1_900)
    await harness.appended(talk(8, 30), 'c')
    await quiet()
    expect(harness.summarizer.calls).toHaveLength(2)
    harness.summarizer.answer = () => undefined
    clock.pass(2_101)
    await until(async () => (await harness.conversations.load('c')).cycles === 1)
  })

  it('a model that is down is not called for every conversation by every worker', async () => {
    const { harness, following, quiet } = createWorld({ ...SMALL, fallback: 'none' })
    harness.summarizer.answer = () => ({ failure: 'unreachable' })
    for (const id of ids(40)) await harness.appended(talk(20), id)
    for (let count = 0; count < 2; count += 1) following({ concurrency: 2 })
    await quiet()
    expect(harness.summarizer.calls.length).toBeGreaterThan(0)
    expect(harness.summarizer.calls.length).toBeLessThanOrEqual(4)
  })

  it('an unexpected error is reported, and the conversation is retried later', async () => {
    const { harness, worker, clock, problems } = createWorld()
    let broken = true
    const flaky = worker({
      follow: harness.store,
      load: async (id) => {
        if (broken) throw new Error('the store is away')
        return harness.conversations.load(id)
      },
    })
    await harness.appended(talk(20), 'c')
    flaky.start()
    await until(() => problems.length === 1)
    broken = false
    clock.pass(2_001)
    await until(async () => (await harness.conversations.load('c')).cycles === 1)
    expect(problems).toEqual([new Error('the store is away')])
  })
})

describe('a stopping worker', () => {
  it('finishes and records the running call, takes no more work, and releases its leases', async () => {
    const { harness, following, queue } = createWorld()
    const [asked, answers] = [latch(), latch()]
    harness.summarizer.answer = async () => {
      asked.open()
      await answers.opened
      return undefined
    }
    const worker = following()
    await harness.appended(talk(20), 'c')
    await asked.opened
    const stopped = worker.stop(60_000)
    answers.open()
    await stopped
    expect(harness.summarizer.calls).toHaveLength(1)
    expect(await harness.eventsOf('ChunkSummarized', 'c')).toHaveLength(1)
    expect(await queue.status()).toEqual({ waiting: 1, running: 0, resting: 0 })
    expect(await harness.eventsOf('CompactionFailed', 'c')).toEqual([])
  })

  it('aborts a call that exceeds the grace period, without a failure', async () => {
    const { harness, worker: create, queue } = createWorld()
    const firstCall = latch()
    const inner = harness.summarizer.summarize.bind(harness.summarizer)
    harness.summarizer.summarize = async (prepared, signal) => {
      const answer = await inner(prepared, signal)
      firstCall.open()
      await new Promise<void>((resolve) => {
        signal?.addEventListener('abort', () => resolve())
      })
      return isSummarizerFailure(answer)
        ? answer
        : { kind: 'SummarizerFailed', failure: 'timeout', detail: 'the call was cancelled' }
    }
    const worker = create({ follow: harness.store })
    worker.start()
    await harness.appended(talk(20), 'c')
    await firstCall.opened
    await worker.stop(5)
    expect(await harness.eventsOf('CompactionFailed', 'c')).toEqual([])
    expect(await queue.status()).toMatchObject({ waiting: 1 })
  })
})

describe('inside a process', () => {
  it('an append wakes it, settled waits for it, and the same appends give the same events', async () => {
    const logs: string[][] = []
    for (let time = 0; time < 2; time += 1) {
      const { harness, worker: create } = createWorld()
      const worker = create({ backsOffByTime: false })
      harness.summarizer.answer = (_prepared, call) => (call === 2 ? { failure: 'timeout' } : undefined)
      for (const message of talk(60)) {
        await harness.appended(message, 'c')
        worker.wake('c')
        await worker.settled('c')
      }
      logs.push((await harness.events('c')).map((event) => `${event.type} ${event.id}`))
    }
    expect(logs[0]).toEqual(logs[1])
    expect(logs[0]?.some((line) => line.startsWith('MessagesPruned'))).toBe(true)
    expect(logs[0]?.some((line) => line.startsWith('CompactionFailed'))).toBe(true)
  })

  it('that ends directly after its appends, only work that a limit requires is done', async () => {
    const { harness, worker: create } = createWorld()
    const worker = create({ backsOffByTime: false, ahead: false })
    const before: number[] = []
    for (const message of talk(40)) {
      const { state } = await harness.appended(message, 'c')
      const isAtLimit = triggerOf(state) !== undefined
      const calls = harness.summarizer.calls.length
      worker.wake('c')
      await worker.settled('c')
      if (!isAtLimit) before.push(harness.summarizer.calls.length - calls)
    }
    expect(new Set(before)).toEqual(new Set([0]))
    expect(await harness.eventsOf('MessagesPruned', 'c')).not.toEqual([])
  })

  it('settled for one conversation waits for a free slot, and settled for all waits for all', async () => {
    const { harness, worker: create } = createWorld()
    const worker = create({ backsOffByTime: false, concurrency: 1 })
    const all = ids(3)
    for (const id of all) await harness.appended(talk(20), id)
    for (const id of all) worker.wake(id)
    await worker.settled('c2')
    expect((await harness.conversations.load('c2')).cycles).toBe(1)
    await worker.settled()
    for (const id of all) expect((await harness.conversations.load(id)).cycles).toBe(1)
  })

  it('messages that arrive while it works are handled afterwards', async () => {
    const { harness, worker: create } = createWorld()
    const worker = create({ backsOffByTime: false })
    let isDone = false
    harness.summarizer.answer = async () => {
      if (!isDone) {
        isDone = true
        await harness.restart().appended(talk(40, 20), 'c')
        worker.wake('c')
      }
      return undefined
    }
    await harness.appended(talk(20), 'c')
    worker.wake('c')
    await worker.settled()
    expect((await harness.context('c')).overBudget).toBeUndefined()
  })

  it('an unexpected error reaches the waiting callers', async () => {
    const { worker: create, problems } = createWorld()
    const worker = create({ backsOffByTime: false, load: () => Promise.reject(new Error('a bug')) })
    worker.wake('c')
    await expect(worker.settled('c')).rejects.toThrow('a bug')
    expect(problems).toHaveLength(1)
    await worker.settled()
  })
})
