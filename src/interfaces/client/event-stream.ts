/** Reads server-sent events until the caller stops. After a lost connection it resumes after the last event. */
import { isLedgerError } from '../../lib/ledger-error.js'
import { setTimeout as delay } from 'node:timers/promises'
import type { z } from 'zod'
import { createSentEventReader, type SentEvent } from '../../domain/text/sent-events.js'
import { backoffMs } from '../../lib/backoff.js'
import { cloudEvent } from '../../schema/answers/cloud-event.js'
import { routes } from '../../schema/index.js'
import { pathOf, unavailable, type Transport } from './transport.js'

/** An event of the log in the form of CloudEvents. */
export type CloudEvent = z.infer<typeof cloudEvent>

interface Wanted {
  readonly conversationId: string | undefined
  readonly from: number | undefined
  readonly after: number | undefined
  readonly signal: AbortSignal | undefined
}

const BACKOFF = { firstMs: 200, mostMs: 5_000 }
/** A service says something every so often; one that says nothing for so long is gone. */
const SILENCE_MS = 60_000

/** Facts, until the signal aborts. */
export async function* readEvents(transport: Transport, wanted: Wanted): AsyncGenerator<CloudEvent> {
  const { conversationId, signal } = wanted
  const route = conversationId === undefined ? routes.streamEvents : routes.streamConversationEvents
  const path = pathOf(route, conversationId === undefined ? {} : { conversation: conversationId })
  let last = wanted.after?.toString()
  let failures = 0
  while (!isOver(signal)) {
    const ended = new AbortController()
    const end = (): void => {
      ended.abort()
    }
    signal?.addEventListener('abort', end)
    let release = (): void => undefined
    try {
      const answering = await transport.send(route, {
        path,
        ...(last === undefined && wanted.from !== undefined
          ? { query: new URLSearchParams({ from: wanted.from.toString() }) }
          : {}),
        ...(last === undefined ? {} : { headers: { 'last-event-id': last } }),
        signal: ended.signal,
        isStream: true,
      })
      release = answering.done
      for await (const { id, data } of sentEvents(answering.chunks, end)) {
        failures = 0
        // Throw if an event cannot be read. To resume after it would skip it without notice.
        if (data !== '') yield eventOf(data, transport.name)
        last = id ?? last
      }
      // A stream that ends by itself is taken up again at once; one that always does, less and less often.
      failures += 1
    } catch (error) {
      if (isOver(signal)) return
      if (isLedgerError(error) && (error.kind === 'NotAService' || error.status < 500)) throw error
      failures += 1
    } finally {
      release()
      signal?.removeEventListener('abort', end)
      // A caller that leaves the loop closes the connection.
      end()
    }
    if (isOver(signal)) return
    await delay(backoffMs(failures, BACKOFF), undefined, signal === undefined ? {} : { signal }).catch(() => undefined)
  }
}

/** Parses an event; throws if this version does not know its form. */
function eventOf(data: string, name: string): CloudEvent {
  const read = cloudEvent.safeParse(parsedJson(data))
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw unavailable(
    'NotAService',
    `${name} sent an event in a shape that this version does not know: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`,
  )
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

const isOver = (signal: AbortSignal | undefined): boolean => signal?.aborted === true

/** The events of one connection. Ends where it does; throws where nothing comes for too long. */
async function* sentEvents(chunks: AsyncIterable<Uint8Array>, quiet: () => void): AsyncGenerator<SentEvent> {
  const reader = createSentEventReader()
  let timer = setTimeout(quiet, SILENCE_MS)
  try {
    for await (const chunk of chunks) {
      clearTimeout(timer)
      timer = setTimeout(quiet, SILENCE_MS)
      yield* reader.take(chunk)
    }
  } finally {
    clearTimeout(timer)
  }
}
