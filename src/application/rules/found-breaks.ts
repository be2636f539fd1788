/** Counts the calls that were compared with each rule, and lists its breaks, each with the message that noticed it. */
import { hasCue } from '../../domain/text/cues.js'
import { quote } from '../../domain/text/quote.js'
import { declines } from '../../domain/text/refusals.js'
import type { Condition } from '../../domain/rules/read-rule.js'
import type { CheckedRule, ContextAtBreak, RuleBreak } from '../../domain/rules/rule.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { isByUser } from '../working-state/statements.js'
import { isLoaded } from './find-rules.js'
import type { FollowedRule } from './followed-rules.js'
import { isAsked } from './permission.js'

/** Messages after a break in which the agent or the user may notice it. */
const NOTICED_WITHIN = 12
const AGENT_NOTICES =
  /(?<![\p{L}])(?:i should(?:n['’]t| not) have|i was not supposed|my mistake|i made a mistake|against (?:your|the) (?:rule|instruction|request)|you (?:had )?(?:asked|told) me not|broke (?:your|the) rule|ich hätte (?:das )?nicht|mein fehler|no debería haber|no debí|mi error)(?![\p{L}])|べきではありません|我不应该|不该/iu
const APOLOGIZES =
  /(?<![\p{L}])(?:sorry|apolog\p{L}+|violat\p{L}+|entschuldig\p{L}*|tut mir leid|perdón|lo siento)(?![\p{L}])|すみません|申し訳|抱歉|对不起/iu
const USER_NOTICES =
  /(?<![\p{L}])(?:i (?:told|asked|said)|(?:were|are)(?:n['’]t| not) supposed|why (?:did|would|are) you|what did i say|not what i|you (?:just )?(?:broke|ignored|violated)|the rule|don['’]t do that|against (?:my|the) (?:rule|order|instruction)|ich (?:hatte|habe) (?:doch )?gesagt|warum hast|du solltest|te dije|dije que|por qué|no tenías|habíamos)(?![\p{L}])|言った|言いました|なぜ|どうして|我说过|不是说|为什么/iu

/**
 * Whether the rule was in the context before a message.
 * @param startedAt the time of the first message, ISO 8601
 */
function contextAt(followed: FollowedRule, { revision }: ReportMessage, startedAt: string | undefined): ContextAtBreak {
  const { rule, presences, statedBy, whenAdded, file: { loadedBy, changedAt } = {} } = followed
  const earlier = presences.filter((each) => each.revision < revision)
  const last = earlier.at(-1)
  // The user said it again after that compaction.
  const statement = statedBy.findLast((message) => message.revision < revision)
  if (statement !== undefined && (last === undefined || statement.revision > last.revision))
    return { presence: 'there', text: quote(statement.ownText) }
  const wasThere = statement !== undefined || [whenAdded, ...earlier].some((each) => each?.presence === 'there')
  if (loadedBy !== undefined && isLoaded(followed, startedAt)) return { presence: 'there', text: rule.text, loadedBy }
  if (loadedBy !== undefined && statement === undefined)
    return { presence: 'unclear', loadedBy, ...(changedAt === undefined ? {} : { changedAt }) }
  // A program may load a rule that no message states in another way, such as a file of instructions.
  if (!wasThere) return { presence: 'unclear' }
  if (last === undefined)
    return { presence: 'there', ...(whenAdded?.text === undefined ? {} : { text: whenAdded.text }) }
  const text = last.text === undefined ? {} : { text: last.text }
  if (last.presence === 'there') return { presence: 'there', ...text }
  const before = earlier.findLastIndex(({ presence }) => presence !== last.presence)
  return { presence: last.presence, sinceCycle: earlier[before + 1]?.cycle ?? last.cycle, ...text }
}

export class FoundBreaks {
  readonly #breaks = new Map<FollowedRule, RuleBreak[]>()
  readonly #calls = new Map<FollowedRule, number>()
  /** The index of each message. */
  readonly #places: ReadonlyMap<ReportMessage, number>

  constructor(private readonly messages: readonly ReportMessage[]) {
    this.#places = new Map(messages.map((message, at) => [message, at]))
  }

  of(rule: FollowedRule): Pick<CheckedRule, 'breaks' | 'calls'> {
    return { calls: this.#calls.get(rule) ?? 0, breaks: this.#breaks.get(rule) ?? [] }
  }

  countCall(rule: FollowedRule): void {
    this.#calls.set(rule, (this.#calls.get(rule) ?? 0) + 1)
  }

  /** Adds the break of a rule by a call of a message. */
  add(
    rule: FollowedRule,
    message: ReportMessage,
    number: number,
    what: Pick<RuleBreak, 'tool' | 'words' | 'failed'>,
  ): void {
    const noticed = this.#noticedAfter(message, rule.conditions)
    const found: RuleBreak = {
      id: `${rule.rule.id}-r${String(message.revision)}-${String(number)}`,
      ruleId: rule.rule.id,
      revision: message.revision,
      messageId: message.messageId,
      ...(message.at === undefined ? {} : { at: message.at }),
      ...what,
      context: contextAt(rule, message, this.messages[0]?.at),
      ...(noticed === undefined ? {} : { noticed }),
    }
    const known = this.#breaks.get(rule)
    if (known === undefined) this.#breaks.set(rule, [found])
    else known.push(found)
  }

  #noticedAfter(message: ReportMessage, conditions: readonly Condition[]): RuleBreak['noticed'] {
    const from = (this.#places.get(message) ?? 0) + 1
    for (const later of this.messages.slice(from, from + NOTICED_WITHIN)) {
      const by = isByUser(later) ? ('user' as const) : later.role === 'assistant' ? ('agent' as const) : undefined
      if (by === undefined) continue
      const isNoticed =
        by === 'agent'
          ? AGENT_NOTICES.test(later.ownText) || (APOLOGIZES.test(later.ownText) && isAsked(later.ownText, conditions))
          : USER_NOTICES.test(later.ownText) ||
            (isAsked(later.ownText, conditions) && (declines(later.ownText) || hasCue(later.ownText, 'question')))
      if (isNoticed)
        return { by, revision: later.revision, messageId: later.messageId, text: quote(later.ownText, 160) }
    }
    return undefined
  }
}
