/** The rules of the user: one row for each, one mark for each compaction, and the calls that broke them. */
import type { Child } from 'hono/jsx'
import type { CheckedRule, Presence, PresenceAfter, RuleBreak, RuleCheck } from '../../../library/ledger.js'
import { contextText, PRESENCE_NAMES } from '../../../application/rules/rule-texts.js'
import { MessagePlace, type Places } from './places.js'
import { Table } from './table.js'
import { count, cut, many, visible } from './text.js'

const MARKS: Readonly<Record<Presence, readonly [mark: string, tone: string]>> = {
  there: ['●', 'good'],
  changed: ['◐', 'warn'],
  gone: ['○', 'bad'],
  unclear: ['?', 'muted'],
}

/** Whether the context had a rule after a compaction. */
function PresenceMark({ rule, seen }: { rule: CheckedRule; seen: PresenceAfter | undefined }): Child {
  if (seen === undefined)
    return <span class="muted">{rule.takenBack === undefined ? 'not stated yet' : 'not in force'}</span>
  const [mark, tone] = MARKS[seen.presence]
  const words = `${PRESENCE_NAMES[seen.presence]}${seen.text === undefined ? '' : `: ${cut(seen.text, 160)}`}`
  return (
    <span class={tone} title={words}>
      <span aria-hidden="true">{mark}</span> {PRESENCE_NAMES[seen.presence]}
    </span>
  )
}

const verdictText = ({ verdict, calls, breaks }: CheckedRule): string =>
  verdict === 'kept'
    ? `kept in ${many(calls, 'call')}`
    : verdict === 'broken'
      ? `broken by ${many(breaks.length, 'call')}`
      : 'not judged'

function RuleName({ rule, c, places }: { rule: CheckedRule; c: string; places: Places }): Child {
  const { since, takenBack, text, standing, source, unjudged } = rule
  return (
    <>
      <q>{visible(text)}</q>{' '}
      {since.revision === undefined || since.messageId === undefined ? (
        <span class="facts">{since.file === undefined ? source : `${since.file}, line ${count(since.line ?? 0)}`}</span>
      ) : (
        <MessagePlace c={c} revision={since.revision} messageId={since.messageId} places={places} />
      )}
      {standing === 'found' ? null : <span class="tag">{standing}</span>}{' '}
      {unjudged === undefined ? null : <span class="facts">not judged: {unjudged}</span>}
      {takenBack?.revision === undefined || takenBack.messageId === undefined ? null : (
        <span class="facts">
          taken back: “{visible(cut(takenBack.text, 120))}”{' '}
          <MessagePlace c={c} revision={takenBack.revision} messageId={takenBack.messageId} places={places} />
        </span>
      )}
    </>
  )
}

/** One break, in sentences. */
function BreakLine({
  found,
  rule,
  c,
  places,
}: {
  found: RuleBreak
  rule: CheckedRule
  c: string
  places: Places
}): Child {
  const { noticed } = found
  return (
    <li>
      <span class="bad">
        {found.tool === undefined ? null : <b>{visible(found.tool)}: </b>}
        <code>{visible(cut(found.words, 200))}</code>
      </span>{' '}
      <MessagePlace c={c} revision={found.revision} messageId={found.messageId} places={places} />
      <br />
      <q>{visible(cut(rule.text, 200))}</q>: {visible(contextText(found.context))}.
      {found.failed === true ? ' The call failed.' : ''}{' '}
      {noticed === undefined ? (
        'Nobody noticed.'
      ) : (
        <>
          The {noticed.by} noticed:{' '}
          <MessagePlace c={c} revision={noticed.revision} messageId={noticed.messageId} places={places} />
        </>
      )}
    </li>
  )
}

/** The rules of a conversation. */
export function RulesView({ checked, places }: { checked: RuleCheck; places: Places }): Child {
  const { rules, conversationId: c } = checked
  if (rules.length === 0) return <p class="empty">The user stated no rule that was found.</p>
  const cycles = [...new Set(rules.flatMap(({ presences }) => presences.map(({ cycle }) => cycle)))].toSorted(
    (a, b) => a - b,
  )
  const breaks = rules.flatMap((rule) => rule.breaks.map((found) => ({ rule, found })))
  const judged = rules.filter(({ verdict }) => verdict !== 'unjudged').length
  return (
    <>
      <p class="figures">
        <span>
          <b>{count(rules.length)}</b> {rules.length === 1 ? 'rule' : 'rules'}
        </span>
        <span>
          <b>{count(judged)}</b> compared with calls
        </span>
        <span class={breaks.length === 0 ? undefined : 'bad'}>
          <b>{count(breaks.length)}</b> {breaks.length === 1 ? 'break' : 'breaks'}
        </span>
      </p>
      {breaks.length === 0 ? null : (
        <ol class="breaks" aria-label="Breaks">
          {breaks
            .toSorted((a, b) => a.found.revision - b.found.revision)
            .map(({ rule, found }) => (
              <BreakLine found={found} rule={rule} c={c} places={places} />
            ))}
        </ol>
      )}
      <Table
        label="Rules"
        columns={['Rule', 'Calls', ...cycles.map((cycle) => `after compaction ${count(cycle)}`)]}
        rows={rules.map((rule) => [
          <RuleName rule={rule} c={c} places={places} />,
          <span class={rule.verdict === 'broken' ? 'bad' : rule.verdict === 'kept' ? 'good' : 'muted'}>
            {verdictText(rule)}
          </span>,
          ...cycles.map((cycle) => (
            <PresenceMark rule={rule} seen={rule.presences.findLast((each) => each.cycle === cycle)} />
          )),
        ])}
      />
      <p class="muted">
        Found and judged by code, without a model. A rule that no call can be compared with is not judged.
      </p>
    </>
  )
}
