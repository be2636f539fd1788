/** The kinds of items that the loss report looks for in removed messages, in the order in which it lists them. */
export const ITEM_KINDS = [
  'constraint',
  'refusal',
  'decision',
  'task',
  'statement',
  'request',
  'error',
  'file',
  'identifier',
  'number',
  'openCall',
  'subAgent',
] as const
/** A kind of item of the loss report. */
export type ItemKind = (typeof ITEM_KINDS)[number]

/** The name of each kind for people, for one item and for several. */
export const ITEM_NAMES: Readonly<Record<ItemKind, { readonly one: string; readonly many: string }>> = {
  constraint: { one: 'rule', many: 'rules' },
  refusal: { one: 'refusal', many: 'refusals' },
  decision: { one: 'decision', many: 'decisions' },
  task: { one: 'open task', many: 'open tasks' },
  statement: { one: 'statement', many: 'statements' },
  request: { one: 'request', many: 'requests' },
  error: { one: 'error', many: 'errors' },
  file: { one: 'file', many: 'files' },
  identifier: { one: 'name', many: 'names' },
  number: { one: 'number', many: 'numbers' },
  openCall: { one: 'call without a result', many: 'calls without results' },
  subAgent: { one: 'running sub-agent', many: 'running sub-agents' },
}
