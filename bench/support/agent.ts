/**
 * An agent in a separate process: it appends to one conversation and reads its context. The benchmark itself (which
 * simulates the model, polls the workers and reads their output) therefore does not slow the agent down.
 */
import { fork } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openLedger, type MessageInput, type LedgerOptions } from '../../src/index.js'

const READ_PAUSE_MS = 2

interface Read {
  /** Start time in milliseconds, by the clock that all processes share. */
  readonly from: number
  readonly took: number
}

type AgentRequest =
  | { readonly kind: 'open'; readonly options: LedgerOptions; readonly conversation: string }
  | { readonly kind: 'append'; readonly messages: readonly MessageInput[]; readonly modelMaxTokens: number }
  | { readonly kind: 'read' }
  | { readonly kind: 'stop' }
  | { readonly kind: 'close' }

type Answer = { readonly position?: number | undefined; readonly reads?: readonly Read[] } | { readonly error: string }

export interface Agent {
  /** Appends, and returns the position of the last event. */
  append(messages: readonly MessageInput[], modelMaxTokens: number): Promise<number>
  /** Reads the context repeatedly until `work` is done, and returns the duration of each read. */
  readWhile(work: () => Promise<void>): Promise<readonly Read[]>
  close(): Promise<void>
}

/** Starts an agent whose ledger leaves background work to other processes. */
export async function startAgent(store: string, conversation: string): Promise<Agent> {
  const child = fork(fileURLToPath(import.meta.url), ['agent'], {
    serialization: 'advanced',
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  const exited = new Promise<void>((resolve) => {
    child.on('close', () => {
      resolve()
    })
  })
  async function ask(asked: AgentRequest): Promise<Exclude<Answer, { error: string }>> {
    const answer = await new Promise<Answer>((resolve) => {
      const ended = (): void => {
        resolve({ error: 'it ended' })
      }
      child.once('close', ended)
      child.once('message', (message) => {
        child.off('close', ended)
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- this file is at both ends
        resolve(message as unknown as Answer)
      })
      child.send(asked)
    })
    if ('error' in answer) throw new Error(`the agent: ${answer.error}`)
    return answer
  }
  await ask({ kind: 'open', options: { store, workers: 'elsewhere', actor: 'bench' }, conversation })
  return {
    append: async (messages, modelMaxTokens) =>
      (await ask({ kind: 'append', messages, modelMaxTokens })).position ?? -1,
    async readWhile(work) {
      await ask({ kind: 'read' })
      try {
        await work()
      } catch (error) {
        await ask({ kind: 'stop' })
        throw error
      }
      return (await ask({ kind: 'stop' })).reads ?? []
    },
    async close() {
      if (child.connected) child.send({ kind: 'close' })
      await exited
    },
  }
}

async function runAgent(): Promise<void> {
  let ledger: Awaited<ReturnType<typeof openLedger>> | undefined
  let conversation = ''
  let reading: Promise<readonly Read[]> = Promise.resolve([])
  let stopping = new AbortController()

  async function readUntil(signal: AbortSignal): Promise<readonly Read[]> {
    const reads: Read[] = []
    while (!signal.aborted) {
      const started = performance.now()
      await ledger?.context(conversation)
      reads.push({ from: performance.timeOrigin + started, took: performance.now() - started })
      await delay(READ_PAUSE_MS)
    }
    return reads
  }
  async function answer(asked: AgentRequest): Promise<Answer> {
    switch (asked.kind) {
      case 'open':
        ledger = await openLedger(asked.options)
        conversation = asked.conversation
        return {}
      case 'append': {
        const appended = await ledger?.append(conversation, asked.messages, {
          policy: { modelMaxTokens: asked.modelMaxTokens },
        })
        await ledger?.context(conversation)
        return { position: appended?.position }
      }
      case 'read':
        stopping = new AbortController()
        reading = readUntil(stopping.signal)
        // The error is reported where the promise is awaited.
        reading.catch(() => undefined)
        return {}
      case 'stop':
        stopping.abort()
        return { reads: await reading }
      case 'close':
        await ledger?.close()
        return {}
    }
    return asked satisfies never
  }
  async function reply(asked: AgentRequest): Promise<void> {
    const result = await answer(asked).catch((error: unknown): Answer => ({
      error: error instanceof Error ? error.message : String(error),
    }))
    if (asked.kind === 'close') process.disconnect()
    else process.send?.(result)
  }
  process.on('message', (asked: AgentRequest) => {
    void reply(asked)
  })
}

if (process.argv[2] === 'agent') await runAgent()
