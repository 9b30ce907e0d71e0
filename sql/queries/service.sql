-- What /version says of the engine and the catalog.

-- name: versions
select sqlite_version(), (select user_version from pragma_user_version);
