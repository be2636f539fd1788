/**
 * Plays an interleaving: messages of a history, compactions, and failures between them. A process that dies comes back
 * as another one over the same store, and repeats every call that it does not know to be complete.
 */
import { either as E } from 'fp-ts'
import { createMemoryClaims } from '../../src/adapters/memory/claims.js'
import { contextOf, type Context } from '../../src/domain/compaction/context.js'
import type { MessageInput } from '../../src/domain/values/message.js'
import type { PolicySettings } from '../../src/domain/values/policy-settings.js'
import type { Step } from './arbitraries.js'
import { CONVERSATION, Crash, createHarness, type Harness } from './harness.js'

export interface Played {
  readonly harness: Harness
  /** Messages that were appended and acknowledged, by this process or a rival, each once. */
  readonly appended: readonly MessageInput[]
  readonly crashes: number
}

/** Asked after each step; there is no context where the leading messages alone do not fit. */
export type Check = (harness: Harness, context: Context | undefined) => Promise<void> | void

interface Run {
  harness: Harness
  readonly appended: MessageInput[]
  crashes: number
  rivals: number
}

/** Does something until the process lives through it. */
async function surviving(run: Run, work: (harness: Harness) => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await work(run.harness)
      return
    } catch (error) {
      if (!(error instanceof Crash)) throw error
      run.crashes += 1
      run.harness = run.harness.restart()
    }
  }
}

async function rivalAppends(run: Run): Promise<void> {
  const message: MessageInput = {
    id: `rival${String(run.rivals++)}`,
    role: 'user',
    content: 'Somebody else says something in between.',
  }
  // A rival that dies comes back too; its crash does not affect our process.
  const appends = async (): Promise<unknown> =>
    run.harness
      .restart()
      .appended(message)
      .catch((error: unknown) => {
        if (error instanceof Crash) return appends()
        throw error
      })
  await appends()
  run.appended.push(message)
}

function meanwhile(run: Run, what: 'append' | 'pin' | 'compact'): void {
  const { summarizer } = run.harness
  const usual = summarizer.answer
  summarizer.answer = async (prepared, call) => {
    summarizer.answer = usual
    const rival = run.harness.restart()
    if (what === 'append') await rivalAppends(run)
    else if (what === 'pin' && prepared.job.kind === 'chunk') await rival.pin(prepared.job.messages[0]?.messageId ?? '')
    // The rival knows nothing of our claim: the worst that a lease which ran out can lead to.
    else if (what === 'compact') await rival.compact('force')
    return usual(prepared, call)
  }
}

async function play(run: Run, step: Step, waiting: MessageInput[]): Promise<void> {
  const { harness } = run
  switch (step.step) {
    case 'append': {
      const messages = waiting.splice(0, step.count)
      if (messages.length === 0) return
      await surviving(run, async (now) => {
        const appended = await now.append(messages)
        // Pins take at most a quarter of the window. A message that cannot be pinned is still appended.
        if (E.isLeft(appended) && appended.left.kind === 'PinTooLarge')
          await now.appended(messages.map((message) => ({ ...message, pinned: false })))
        else if (E.isLeft(appended)) throw new Error(`the append was refused: ${appended.left.kind}`)
      })
      run.appended.push(...messages)
      return
    }
    case 'again': {
      const message = run.appended[step.which % Math.max(1, run.appended.length)]
      if (message === undefined) return
      await surviving(run, async (now) => {
        const { recorded } = await now.appended({ ...message, pinned: false })
        if (recorded.length > 0) throw new Error(`${String(message.id)} was recorded twice`)
      })
      return
    }
    case 'compact':
      if (run.appended.length > 0)
        await surviving(run, async (now) => {
          await now.compact(step.mode)
        })
      return
    case 'pin': {
      const message = run.appended[step.which % Math.max(1, run.appended.length)]
      if (message?.id !== undefined)
        await surviving(run, async (now) => {
          await now.pin(String(message.id), step.pinned)
        })
      return
    }
    case 'restart':
      run.harness = harness.restart({ claims: createMemoryClaims(harness.clock) })
      return
    case 'fault':
      while (harness.store.faults.length < step.after) harness.store.faults.push(undefined)
      harness.store.faults.push(step.fault)
      return
    case 'fail': {
      const { summarizer } = harness
      const usual = summarizer.answer
      summarizer.answer = () => {
        summarizer.answer = usual
        return { failure: step.failure }
      }
      return
    }
    case 'meanwhile':
      meanwhile(run, step.what)
      return
    case 'race':
      harness.store.beforeAppend = () => rivalAppends(run)
  }
}

/**
 * Plays it, and then the rest of the history; `check` runs after each step. A fault that has not occurred by the end is
 * dropped.
 */
export async function interleave(
  policy: PolicySettings,
  history: readonly MessageInput[],
  steps: readonly Step[],
  check: Check = () => undefined,
  first = createHarness({ policy }),
): Promise<Played> {
  const run: Run = { harness: first, appended: [], crashes: 0, rivals: 0 }
  const waiting = [...history]
  const { answer } = first.summarizer
  const look = async (): Promise<void> => {
    const context = contextOf(await run.harness.conversations.load(CONVERSATION))
    await check(run.harness, E.isLeft(context) ? undefined : context.right)
  }
  for (const step of steps) {
    await play(run, step, waiting)
    await look()
  }
  run.harness.store.faults.length = 0
  while (waiting.length > 0) {
    await play(run, { step: 'append', count: 5 }, waiting)
    await play(run, { step: 'compact', mode: 'due' }, waiting)
    await look()
  }
  run.harness.summarizer.answer = answer
  run.harness.store.beforeAppend = undefined
  return { harness: run.harness, appended: run.appended, crashes: run.crashes }
}
