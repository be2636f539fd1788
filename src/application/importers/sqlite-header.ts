/** The first characters of every SQLite database. */
export const SQLITE = 'SQLite format 3\u0000'
