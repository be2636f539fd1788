/**
 * Server-sent events, read from bytes as they come. A chunk may end anywhere: inside a line, and inside a character.
 */

/** One event, whole. */
export interface SentEvent {
  /** What `event:` says; `message` where it says nothing. */
  readonly event: string
  /** The lines of `data:`, joined; empty where an event has an id alone. */
  readonly data: string
  /** Where its stream is, for who comes back: a service may move it on without data. */
  readonly id?: string
}

/** Reads events from bytes as they come. */
export interface SentEventReader {
  /** The events that are whole with these bytes. */
  take(chunk: Uint8Array): SentEvent[]
}

/** A line of so many characters is nobody's: what follows is not read any more. */
const MOST_CHARACTERS = 64 * 1024 * 1024

/** Reads events until a line is longer than anybody's. */
export function createSentEventReader(): SentEventReader {
  const decoder = new TextDecoder()
  // A line that comes in many chunks is put together once, at its end: else each chunk would cost as much as the line.
  let pieces: string[] = []
  let waiting = 0
  let event = ''
  let id: string | undefined
  let data: string[] = []
  let isDone = false

  function line(text: string, events: SentEvent[]): void {
    if (text === '') {
      if (data.length > 0 || id !== undefined)
        events.push({
          event: event === '' ? 'message' : event,
          data: data.join('\n'),
          ...(id === undefined ? {} : { id }),
        })
      event = ''
      id = undefined
      data = []
      return
    }
    if (text.startsWith(':')) return
    const colon = text.indexOf(':')
    const field = colon === -1 ? text : text.slice(0, colon)
    const value = colon === -1 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
    else if (field === 'id' && !value.includes('\0')) id = value
  }

  return {
    take(chunk) {
      if (isDone) return []
      const events: SentEvent[] = []
      const piece = decoder.decode(chunk, { stream: true })
      pieces.push(piece)
      waiting += piece.length
      // A carriage return at the end of the last chunk is the end of a line, whatever comes now.
      if (piece.includes('\n') || piece.includes('\r') || pieces.at(-2)?.endsWith('\r') === true) {
        const text = pieces.length === 1 ? piece : pieces.join('')
        let [from, feed, carriage] = [0, text.indexOf('\n'), text.indexOf('\r')]
        while (feed !== -1 || carriage !== -1) {
          const end = feed === -1 || (carriage !== -1 && carriage < feed) ? carriage : feed
          // A carriage return at the very end may have a line feed behind it, in the next chunk.
          if (end === carriage && end === text.length - 1) break
          line(text.slice(from, end), events)
          from = end === carriage && feed === end + 1 ? end + 2 : end + 1
          if (feed !== -1 && feed < from) feed = text.indexOf('\n', from)
          if (carriage !== -1 && carriage < from) carriage = text.indexOf('\r', from)
        }
        const rest = text.slice(from)
        pieces = rest === '' ? [] : [rest]
        waiting = rest.length
      }
      if (waiting > MOST_CHARACTERS) {
        isDone = true
        pieces = []
      }
      return events
    },
  }
}
