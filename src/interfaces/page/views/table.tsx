/** A table with a label for screen readers. On a narrow screen it scrolls horizontally. */
import type { Child } from 'hono/jsx'

/** A column: its name, and its type if it is not text. */
type Column = string | { readonly name: string; readonly is: 'figure' | 'time' | 'heading' }

const nameOf = (column: Column): string => (typeof column === 'string' ? column : column.name)
const classOf = (column: Column): string | undefined =>
  typeof column === 'string' || column.is === 'heading' ? undefined : column.is === 'figure' ? 'n' : 'time'

/** A numeric column. */
export const figure = (name: string): Column => ({ name, is: 'figure' })

/** A table. The `heading` column, or else the first column, is the row header. */
export function Table({
  label,
  columns,
  rows,
  tight = false,
}: {
  label: string
  columns: readonly Column[]
  rows: readonly (readonly Child[])[]
  /** Column names may wrap. */
  tight?: boolean
}): Child {
  const heading = Math.max(
    0,
    columns.findIndex((column) => typeof column !== 'string' && column.is === 'heading'),
  )
  return (
    <div class="wide" role="region" aria-label={label} tabindex={0}>
      <table class={tight ? 'rows tight' : 'rows'}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" class={classOf(column) === 'n' ? 'n' : undefined}>
                {nameOf(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells) => (
            <tr>
              {cells.map((cell, at) =>
                at === heading ? <th scope="row">{cell}</th> : <td class={classOf(columns[at] ?? '')}>{cell}</td>,
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
