/**
 * A call that broke a rule as an event of the Open Cybersecurity Schema Framework: Detection Finding, class 2004, version
 * 1.4.0.
 */
import type { CheckedRule, RuleBreak } from '../../../library/ledger.js'
import { productOf, VERSION } from './ocsf.js'

const CLASS = 2004
const CATEGORY = 2
const CREATE = 1
const NEW = 1
const LOW = 2
const MEDIUM = 3

export interface Finding {
  /** The ledger, as `sourceOf` names it. */
  readonly source: string
  readonly conversationId: string
  readonly rule: CheckedRule
  readonly found: RuleBreak
  /** The time of the check, for a call without a time. */
  readonly now: number
}

export function ruleFinding({ source, conversationId, rule, found, now }: Finding): Record<string, unknown> {
  const time = found.at === undefined ? now : Date.parse(found.at)
  const { context, noticed } = found
  return {
    activity_id: CREATE,
    activity_name: 'Create',
    category_uid: CATEGORY,
    category_name: 'Findings',
    class_uid: CLASS,
    class_name: 'Detection Finding',
    type_uid: CLASS * 100 + CREATE,
    type_name: 'Detection Finding: Create',
    time,
    severity_id: found.failed === true ? LOW : MEDIUM,
    status_id: NEW,
    message: `${found.words}: breaks the rule "${rule.text}"`,
    metadata: { version: VERSION, product: productOf(source), uid: `${conversationId}#${found.id}` },
    finding_info: {
      uid: `${conversationId}#${found.id}`,
      title: 'An agent broke a rule of its user',
      desc: rule.text,
      types: ['Policy violation'],
      created_time: time,
      analytic: { name: 'rules check', type_id: 1, type: 'Rule', uid: rule.id },
    },
    resources: [{ uid: conversationId, type: 'conversation' }],
    unmapped: {
      revision: String(found.revision),
      message_uid: found.messageId,
      tool: found.tool,
      call: found.words,
      call_failed: found.failed === true,
      rule_standing: rule.standing,
      rule_in_context: context.presence,
      rule_gone_since_compaction: context.sinceCycle,
      noticed_by: noticed?.by,
    },
  }
}
