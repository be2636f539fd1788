/**
 * What a tool call does, as steps that can be compared with a rule: the actions of each, and the names on which it acts.
 * Texts that a call only writes, searches or prints are no names on which it acts.
 */
import { argumentsOf, queryOf, shellCommandOf, type NamedCall } from '../tools/call-query.js'
import { EDIT_ARGUMENTS, seemsToRead } from '../tools/tool-shapes.js'
import { ACTIONS, type Action } from './actions.js'
import type { CallStep } from './call-step.js'
import { namesIn, namesInSql, sqlActions, stepsOfCommand } from './command-steps.js'

const NO_AMOUNTS: CallStep['amounts'] = []

/** The values of arguments, deeply, with their names. */
function valuesOf(value: unknown, name = '', level = 0): { readonly name: string; readonly value: unknown }[] {
  if (level > 6) return []
  if (Array.isArray(value)) return value.flatMap((each) => valuesOf(each, name, level + 1))
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, each]) => valuesOf(each, key, level + 1))
  return [{ name, value }]
}

/** Arguments whose value is a text for people. */
const PROSE = /^(?:body|text|message|content|subject|title|description|reason|note|comment|summary|html|markdown)$/iu
/** A draft is not sent. */
const DRAFT = /(?<![a-z])draft(?!ed)/u
const AMOUNT = /amount|total|price|sum|cents|cost|budget|refund|percent|discount|usd|eur/iu

/** The step of a tool that is no shell and no editor. */
function stepOfTool(call: NamedCall): CallStep {
  const values = valuesOf(argumentsOf(call))
  const texts = values.flatMap(({ name, value }) => (typeof value === 'string' && !PROSE.test(name) ? [value] : []))
  const sql = texts.map(sqlActions).find((found) => found !== undefined)
  const name = call.name.toLowerCase().replaceAll('-', '_')
  // A tool with the name of a query only reads: `list_deployments`.
  const reads = sql === undefined ? seemsToRead(call.name) : sql.has('read')
  const actions = new Set<Action>(
    sql ??
      (reads
        ? []
        : ACTIONS.flatMap(({ action, tool }) =>
            tool?.test(name) === true && !(action === 'send' && DRAFT.test(name)) ? [action] : [],
          )),
  )
  if (reads) actions.add('read')
  else {
    actions.add('use')
    actions.add('run')
    if (sql === undefined && !actions.has('send')) actions.add('change')
  }
  return {
    actions,
    reads,
    names: [...(sql?.has('change') === true ? namesInSql : namesIn)(texts.join(' ')), name],
    tool: name.replaceAll(/(?<=[a-z])(?=[A-Z])/gu, '_'),
    files: [],
    amounts: values.flatMap((each) => {
      const number = typeof each.value === 'number' ? each.value : Number(each.value)
      return AMOUNT.test(each.name) && Number.isFinite(number) && each.value !== ''
        ? [{ name: each.name.toLowerCase(), value: number }]
        : []
    }),
    text: `${call.name}(${queryOf(call).subject})`,
  }
}

/** The steps of a call. */
export function stepsOf(call: NamedCall): readonly CallStep[] {
  const command = shellCommandOf(call)
  if (command !== undefined) return stepsOfCommand(command)
  const query = queryOf(call)
  switch (query.use) {
    case 'ask':
    case 'note':
    case 'wait':
    case 'agent':
      return []
    case 'write': {
      const values = argumentsOf(call)
      const isDeleted =
        /delete/u.test(call.name.toLowerCase()) ||
        EDIT_ARGUMENTS.patch.some((name) => String(values[name]).includes('*** Delete File'))
      return [
        {
          actions: new Set<Action>(isDeleted ? ['change', 'delete'] : ['change']),
          reads: false,
          names: namesIn(query.files.join(' ')),
          files: query.files,
          amounts: NO_AMOUNTS,
          text: `${call.name}(${query.subject})`,
        },
      ]
    }
    case 'search':
    case 'web':
      return [
        {
          actions: new Set<Action>(['read']),
          reads: true,
          names: [],
          files: [],
          amounts: NO_AMOUNTS,
          text: query.subject,
        },
      ]
    case 'read':
    case 'shell': {
      return [
        {
          actions: new Set<Action>(['read']),
          reads: true,
          names: namesIn(query.files.join(' ')),
          files: query.files,
          amounts: NO_AMOUNTS,
          text: `${call.name}(${query.subject})`,
        },
      ]
    }
    case 'other':
      return [stepOfTool(call)]
  }
}
