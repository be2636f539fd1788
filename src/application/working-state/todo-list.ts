/** The agent's own list of tasks, as its last calls of a planning tool left it. */
import { isRecord } from '../../lib/is-record.js'
import { argumentsOf } from '../../domain/tools/call-query.js'
import type { Work } from '../loss-report/tool-calls.js'
import type { ReportMessage } from '../loss-report/report-input.js'

interface Todo {
  readonly text: string
  readonly status: 'open' | 'inProgress' | 'done'
}

/** The list, with the message that changed it last. */
export interface TodoList {
  readonly todos: readonly Todo[]
  readonly by: ReportMessage
}

const TEXT_FIELDS = ['content', 'step', 'subject', 'title', 'description', 'task', 'text']
const LIST_FIELDS = ['todos', 'plan', 'tasks', 'task_list', 'items', 'value']
/** `- [x] done`, `[-] in progress`, `1. [ ] open`. */
const CHECKLIST = /^\s*(?:[-*]|\d+\.)?\s*\[([ xX~-])\]\s+(\S.*)$/gmu

const statusOf = (value: unknown): Todo['status'] => {
  const words = typeof value === 'string' ? value.toLowerCase().replaceAll(/[^a-z]/gu, '') : ''
  if (/^(?:completed?|done|cancelled|canceled|deleted|x)$/u.test(words)) return 'done'
  return words === 'inprogress' ? 'inProgress' : 'open'
}

function todoOf(value: unknown): Todo[] {
  if (!isRecord(value)) return []
  const text = TEXT_FIELDS.map((field) => value[field]).find((each) => typeof each === 'string' && each.trim() !== '')
  return typeof text === 'string' ? [{ text, status: statusOf(value['status']) }] : []
}

const MARKS: Readonly<Record<string, Todo['status']>> = { ' ': 'open', '-': 'inProgress', '~': 'inProgress' }

/** A whole list in the arguments of a call: an array of records, or a Markdown checklist. */
function listOf(work: Work): readonly Todo[] | undefined {
  const values = argumentsOf(work.call)
  const value = LIST_FIELDS.map((field) => values[field]).find((each) => each !== undefined)
  if (Array.isArray(value)) return value.flatMap(todoOf)
  if (typeof value !== 'string') return undefined
  const lines = Array.from(value.matchAll(CHECKLIST), ([, mark = '', text = '']) => ({
    text,
    status: MARKS[mark] ?? ('done' as const),
  }))
  return lines.length === 0 ? undefined : lines
}

const idOf = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')

/** Tools that change one task: the result of a creation names its id. */
class Tasks {
  readonly #tasks = new Map<string, Todo>()

  take({ call, result }: Work): boolean {
    const values = argumentsOf(call)
    const name = call.name.toLowerCase().replaceAll(/[^a-z]/gu, '')
    if (name === 'taskcreate') {
      const id = /\b(?:task )?#?(\d+)\b/iu.exec(result?.text ?? '')?.[1] ?? String(this.#tasks.size + 1)
      const [todo] = todoOf(values)
      if (todo !== undefined) this.#tasks.set(id, todo)
      return todo !== undefined
    }
    if (name !== 'taskupdate') return false
    const id = idOf(values['taskId'] ?? values['task_id'] ?? values['id'])
    const known = this.#tasks.get(id)
    if (known === undefined) return false
    this.#tasks.set(id, {
      text: todoOf(values)[0]?.text ?? known.text,
      status: values['status'] === undefined ? known.status : statusOf(values['status']),
    })
    return true
  }

  get all(): readonly Todo[] {
    return [...this.#tasks.values()]
  }
}

/** The list after some calls; undefined if they do not change one. */
export function todoListOf(works: readonly Work[]): TodoList | undefined {
  const tasks = new Tasks()
  let list: TodoList | undefined
  for (const work of works) {
    if (work.query.use !== 'note') continue
    if (tasks.take(work)) list = { todos: tasks.all, by: work.by }
    else {
      const todos = listOf(work)
      if (todos !== undefined) list = { todos, by: work.by }
    }
  }
  return list
}
