/** Prints rules of the user, and the calls that broke them. */
import type { CheckedRule, Rule, RuleBreak, RuleCheck, RuleTotals, RuleVerdict } from '../../../library/ledger.js'
import { brief, colours, count, many, printable, showTable } from '../output.js'
import { localTime } from '../time-words.js'

const TEXT_CHARACTERS = 120

const quoted = (text: string): string => `«${brief(text, TEXT_CHARACTERS)}»`

const HEAD = ['rule', 'since', 'standing', 'source', 'words', 'taken back'] as const
const columnOf = (name: (typeof HEAD)[number]): number => HEAD.indexOf(name)
const NARROW = {
  optional: [columnOf('source'), columnOf('since')],
  whole: new Set([columnOf('rule')]),
  least: new Map([[columnOf('words'), 28]]),
}

const takenBackText = ({ takenBack }: Rule): string =>
  takenBack === undefined
    ? ''
    : `${takenBack.at === undefined ? `revision ${String(takenBack.revision)}` : localTime(takenBack.at)} by ${quoted(takenBack.text)}`

/** Prints rules as a table. */
export async function showRuleTable(rules: readonly Rule[]): Promise<void> {
  const isAnyTakenBack = rules.some(({ takenBack }) => takenBack !== undefined)
  await showTable(
    HEAD.slice(0, isAnyTakenBack ? HEAD.length : -1),
    rules.map((rule) =>
      [
        printable(rule.id),
        rule.since.at === undefined ? '' : localTime(rule.since.at),
        rule.standing,
        rule.source,
        printable(rule.text),
        takenBackText(rule),
      ].slice(0, isAnyTakenBack ? HEAD.length : -1),
    ),
    new Set(),
    NARROW,
  )
}

/** Whether the rule was in the context of the model. */
function contextText({ context: { presence, sinceCycle, text } }: RuleBreak): string {
  if (presence === 'there') return 'the rule was in the context'
  if (sinceCycle === undefined) return 'no message states the rule, so the context may have lacked it'
  const since = `since compaction ${String(sinceCycle)}`
  if (presence === 'gone') return `the rule was ${colours.red(`gone ${since}`)}`
  if (presence === 'changed')
    return `the summary ${colours.yellow('changed')} the rule ${since}${text === undefined ? '' : `: ${quoted(text)}`}`
  return `the rule may be gone ${since}`
}

const noticedText = ({ noticed }: RuleBreak): string =>
  noticed === undefined
    ? 'nobody noticed'
    : `the ${noticed.by} noticed at revision ${String(noticed.revision)}: ${quoted(noticed.text)}`

const breakLines = (found: RuleBreak): string[] => [
  `    revision ${String(found.revision)}${found.tool === undefined ? '' : ` ${printable(found.tool)}`}: ${printable(found.words)}${found.failed === true ? ' (the call failed)' : ''}`,
  `      ${contextText(found)}; ${noticedText(found)}`,
]

function verdictText({ verdict, unjudged, calls, breaks }: CheckedRule): string {
  const compared = calls === 0 ? 'no call to compare' : `${many(calls, 'call')} compared`
  if (verdict === 'unjudged') return colours.dim(`cannot be judged: ${printable(unjudged ?? '')}`)
  if (verdict === 'kept') return `${colours.green('kept so far')} (${compared})`
  return `${colours.red(`broken ${breaks.length === 1 ? 'once' : `${count(breaks.length)} times`}`)} (${compared})`
}

const ORDER: readonly RuleVerdict[] = ['broken', 'kept', 'unjudged']

const ruleLines = (rule: CheckedRule): string[] => [
  `${colours.bold(printable(rule.id))}  ${printable(rule.text)}${rule.standing === 'confirmed' ? colours.dim(' (confirmed)') : ''}`,
  `  ${verdictText(rule)}${rule.takenBack === undefined ? '' : `; taken back ${takenBackText(rule)}`}`,
  ...rule.breaks.flatMap(breakLines),
]

/** The rules of a conversation, broken ones first. */
export const checkLines = ({ rules }: RuleCheck, verdicts: readonly RuleVerdict[] = ORDER): string[] =>
  verdicts.flatMap((verdict) => rules.filter((rule) => rule.verdict === verdict).flatMap(ruleLines))

/** The counts of a check. */
export function totalsLine({ conversations, rules, judged, broken, breaks, withoutRule }: RuleTotals): string {
  const where = `${many(rules, 'rule')} in ${many(conversations, 'conversation')}`
  const compared = `${count(judged)} can be judged`
  if (breaks === 0) return `${where}: ${compared}, ${colours.green('none broken')}`
  const without =
    withoutRule === 0
      ? 'the rule was in the context each time'
      : `${count(withoutRule)} of these without the whole rule in the context`
  return `${where}: ${compared}, ${colours.red(`${count(broken)} broken`)} by ${many(breaks, 'call')} (${without})`
}
