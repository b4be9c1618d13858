// Tables of the console. A row stays while what it stands for is in the list: a button that was clicked once must stay, and
// the keyboard must not lose its place.

import { setText } from './common.js';

// Names come from strangers: they are text, never markup.
export function cell(kind, text) {
  const element = document.createElement(kind);
  element.textContent = text;
  return element;
}

function named(kind, name, text) {
  const one = cell(kind, text);
  one.dataset.name = name;  // shown where the table is too wide for the window
  return one;
}

export function headOf(columns) {
  return columns.map(([name]) => named('th', name, name));
}

export class KeptTable {
  // `columns`: [name, text(item)] each. `keyOf(item)` tells items apart. `buttonOf(newest)`, where there is one: makes the
  // last cell's button; `newest()` is the row's item as it was shown last.
  constructor(table, columns, keyOf, buttonOf = null) {
    this.body = table.tBodies[0];
    this.columns = columns;
    this.keyOf = keyOf;
    this.buttonOf = buttonOf;
    this.rows = new Map();  // by key: { row, item }
    table.tHead.rows[0].replaceChildren(...headOf(columns), ...(buttonOf ? [cell('th', '')] : []));
  }

  show(items) {
    const shown = items.map((item) => this.rowOf(item));
    for (const [key, { row }] of this.rows) {
      if (!shown.includes(row)) {
        this.rows.delete(key);
        row.remove();
      }
    }
    shown.forEach((row, index) => {
      if (this.body.children[index] !== row) {
        this.body.insertBefore(row, this.body.children[index] ?? null);
      }
    });
  }

  clear() { this.show([]); }

  rowOf(item) {
    const key = this.keyOf(item);
    let kept = this.rows.get(key);
    if (!kept) {
      kept = { row: document.createElement('tr'), item };
      kept.row.append(...this.columns.map(([name]) => named('td', name, '')));
      if (this.buttonOf) {
        const last = cell('td', '');
        last.className = 'act';
        last.append(this.buttonOf(() => kept.item));
        kept.row.append(last);
      }
      this.rows.set(key, kept);
    }
    kept.item = item;
    this.columns.forEach(([, text], index) => setText(kept.row.children[index], text(item)));
    return kept.row;
  }
}
