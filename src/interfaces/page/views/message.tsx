/** The full text of a message, in slices if it is long. Each line links to its sources. */
import type { Child } from 'hono/jsx'
import { conversationLink, link } from '../links.js'
import type { Step } from '../reading/step.js'
import { nameOf, ROLES, SUMMARY } from './chat.js'
import { count, linesOf, many, Name, visible } from './text.js'

/** Maximum characters of a message on one page. */
const SLICE = 40_000

/** The lines in a slice of a text, with their indexes. */
function linesWithin(
  lines: readonly string[],
  from: number,
  to: number,
): { readonly at: number; readonly text: string }[] {
  const found: { readonly at: number; readonly text: string }[] = []
  let offset = 0
  for (const [at, line] of lines.entries()) {
    if (offset < to && offset + line.length >= from)
      found.push({ at, text: line.slice(Math.max(0, from - offset), to - offset) })
    offset += line.length + 1
  }
  return found
}

/** The full text of a message, in slices if it is long. Each line links to its sources. */
export function FullMessage({ step, at, from }: { step: Step; at: number; from: number }): Child {
  const message = step.context?.messages[at]
  if (message === undefined) return <p class="empty">There is no such message in the context at this event.</p>
  const { conversationId: c, revision } = step
  const lines = linesOf(message)
  const characters = lines.reduce((sum, line) => sum + line.length + 1, -1)
  const sliceLink = (offset: number): string => link('/message', { c, at: revision, i: at, from: offset })
  const id = step.context?.messageIds[at]
  return (
    <>
      <h2>
        {at === step.context?.viewAt ? SUMMARY : ROLES[message.role]}
        <span class="facts">
          {' '}
          <Name text={nameOf(false, id, 'not recorded')} />
        </span>
      </h2>
      <p class="figures">
        <a href={conversationLink({ c, at: revision, m: id })}>In its conversation</a>
        <span>{many(Math.max(0, characters), 'character')}</span>
        {characters <= SLICE ? null : (
          <span>
            {count(from + 1)} to {count(Math.min(characters, from + SLICE))}
          </span>
        )}
        {from > 0 ? <a href={sliceLink(Math.max(0, from - SLICE))}>previous</a> : null}
        {from + SLICE < characters ? <a href={sliceLink(from + SLICE)}>next</a> : null}
      </p>
      <div class="text whole">
        {linesWithin(lines, from, from + SLICE).map(({ at: line, text }) =>
          text.trim() === '' ? (
            <span class="ln">{'\u00a0'}</span>
          ) : (
            <a
              class="ln"
              href={conversationLink({ c, at: revision, why: `${String(at)}.${String(line)}` })}
              tabindex={-1}
            >
              {visible(text)}
            </a>
          ),
        )}
      </div>
    </>
  )
}

/** A line of a context by message index and line index; undefined if it does not exist. */
export function lineAt(step: Step, why: string): string | undefined {
  const [, message, line] = /^(\d{1,7})\.(\d{1,7})$/u.exec(why) ?? []
  const found = step.context?.messages[Number(message)]
  if (message === undefined || line === undefined || found === undefined) return undefined
  const text = linesOf(found)[Number(line)]
  return text === undefined || text.trim() === '' ? undefined : text.slice(0, 2_000)
}
