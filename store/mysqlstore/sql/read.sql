-- What became of several claims, completes, releases or renewals: one row for
-- each record that is still there.
SELECT {key}, {state}, owner, attempts, found, decision, {leaseEnd} - {now}
FROM {table} WHERE {keys}
