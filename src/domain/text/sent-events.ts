/** Parses server-sent events from chunks of bytes. A chunk may end inside a line or inside a character. */

/** A complete event. */
export interface SentEvent {
  /** The value of `event:`, or `message` without one. */
  readonly event: string
  /** The joined `data:` lines; empty for an event that has only an id. */
  readonly data: string
  /** The position in the stream, for reconnecting. A service may advance it without data. */
  readonly id?: string
}

/** Parses events from chunks of bytes. */
export interface SentEventReader {
  /** The events that this chunk completes. */
  take(chunk: Uint8Array): SentEvent[]
}

/** A longer line is not valid input; the reader ignores everything after it. */
const MOST_CHARACTERS = 64 * 1024 * 1024

/** Creates a reader that stops at the first line above the maximum length. */
export function createSentEventReader(): SentEventReader {
  const decoder = new TextDecoder()
  // A line that arrives in many chunks is joined once, at its end. Joining it with each chunk would take quadratic
  // time.
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
      // A carriage return at the end of the last chunk ends a line.
      if (piece.includes('\n') || piece.includes('\r') || pieces.at(-2)?.endsWith('\r') === true) {
        const text = pieces.length === 1 ? piece : pieces.join('')
        let [from, feed, carriage] = [0, text.indexOf('\n'), text.indexOf('\r')]
        while (feed !== -1 || carriage !== -1) {
          const end = feed === -1 || (carriage !== -1 && carriage < feed) ? carriage : feed
          // A carriage return at the end of this chunk may be followed by a line feed in the next chunk.
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
