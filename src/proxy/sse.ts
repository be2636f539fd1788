/**
 * Server-sent events, read from a copy of the bytes that go to the client. A chunk may end anywhere: inside a line, and
 * inside a character.
 */

/** One event, whole. */
export interface StreamEvent {
  /** What `event:` says; `message` where it says nothing. */
  readonly event: string
  /** The lines of `data:`, joined. */
  readonly data: string
}

/** Reads events from bytes as they come. */
export interface EventReader {
  /** The events that are whole with these bytes. */
  take(chunk: Uint8Array): StreamEvent[]
  /** Whether the last event stands there in part. */
  hasRest(): boolean
}

/** A line of so many characters is none of an API's: what follows is not read any more. */
const MOST_CHARACTERS = 64 * 1024 * 1024

/** Reads events until a line is longer than anybody's. */
export function createEventReader(): EventReader {
  const decoder = new TextDecoder()
  let rest = ''
  let event = ''
  let data: string[] = []
  let isDone = false

  function line(text: string, events: StreamEvent[]): void {
    if (text === '') {
      if (data.length > 0) events.push({ event: event === '' ? 'message' : event, data: data.join('\n') })
      event = ''
      data = []
      return
    }
    if (text.startsWith(':')) return
    const colon = text.indexOf(':')
    const field = colon === -1 ? text : text.slice(0, colon)
    const value = colon === -1 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
  }

  return {
    take(chunk) {
      if (isDone) return []
      const events: StreamEvent[] = []
      const text = rest + decoder.decode(chunk, { stream: true })
      let from = 0
      for (;;) {
        let end = text.indexOf('\n', from)
        const carriage = text.indexOf('\r', from)
        if (carriage !== -1 && (end === -1 || carriage < end)) {
          // A line feed may still follow in the next chunk.
          if (carriage === text.length - 1) break
          line(text.slice(from, carriage), events)
          from = text[carriage + 1] === '\n' ? carriage + 2 : carriage + 1
          continue
        }
        if (end === -1) break
        line(text.slice(from, end), events)
        from = end + 1
        end = -1
      }
      rest = text.slice(from)
      if (rest.length > MOST_CHARACTERS) {
        isDone = true
        rest = ''
      }
      return events
    },
    hasRest: () => rest.trim() !== '' || data.length > 0,
  }
}
